#include "trace/file/trace_writer.h"

#include <elf.h>
#include <fcntl.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/assertion.h"
#include "trace/file/event_columns.h"
#include "trace/file/trace_error.h"

namespace heaplab::trace {

namespace {

constexpr int compression_level = 3;  // higher levels gain a few percent and take several times as long

#if defined(__x86_64__)
constexpr std::uint16_t this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t this_machine = EM_AARCH64;
#else
#error "trace files know no such machine yet"
#endif

[[maybe_unused]] bool are_lived(std::span<const event> blocks) {
  for (const event& block : blocks)
    if (!event_rules::may_live(block, &block == blocks.data() ? nullptr : &block - 1)) return false;
  return true;
}

std::span<const std::uint8_t> bytes_of_text(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

struct trace_writer::compressor {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ~compressor() { ZSTD_freeCCtx(context); }
};

trace_writer::trace_writer(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (!file_.is_open()) throw trace_error(path_, std::strerror(errno));
  file_header header{};
  std::memcpy(header.magic, file_magic, sizeof header.magic);
  header.major = format_major;
  header.minor = format_minor;
  header.machine = this_machine;
  header.address_bits = 64;
  header.crc = crc_of(header);
  put(bytes_of(header));
  compressor_ = new compressor;
  if (compressor_->context == nullptr) throw std::bad_alloc();
  events_.reserve(frame_events);
}

trace_writer::~trace_writer() {
  delete compressor_;
}

void trace_writer::put(std::span<const std::uint8_t> data) {
  while (!data.empty()) {
    const ssize_t written = ::write(file_.number(), data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw trace_error(path_, written < 0 ? std::strerror(errno) : "cannot be written");
    data = data.subspan(static_cast<std::size_t>(written));
    offset_ += static_cast<std::uint64_t>(written);
  }
}

void trace_writer::put_frame(frame_type type, std::uint32_t count, std::uint64_t first,
                             std::uint64_t first_stamp, std::span<const std::uint8_t> payload) {
  HEAPLAB_ASSERT(payload.size() <= largest_frame);
  packed_.resize(ZSTD_compressBound(payload.size()));
  const std::size_t size = ZSTD_compressCCtx(compressor_->context, packed_.data(), packed_.size(),
                                             payload.data(), payload.size(), compression_level);
  const bool pays = ZSTD_isError(size) == 0 && size < payload.size();
  const std::span<const std::uint8_t> stored =
      pays ? std::span<const std::uint8_t>(packed_).first(size) : payload;
  frame_header header{.magic = frame_magic,
                      .type = type,
                      .codec = pays ? codec::zstd : codec::stored,
                      .process = processes_ == 0 ? 0 : processes_ - 1,
                      .count = count,
                      .first = first,
                      .first_stamp = first_stamp,
                      .packed_bytes = static_cast<std::uint32_t>(stored.size()),
                      .plain_bytes = static_cast<std::uint32_t>(payload.size()),
                      .payload_crc = crc32(stored),
                      .header_crc = 0};
  header.header_crc = crc_of(header);
  index_.push_back({offset_, first, first_stamp, header.process, count, header.packed_bytes,
                    static_cast<std::uint16_t>(type), 0});
  put(bytes_of(header));
  put(stored);
}

std::uint32_t trace_writer::begin_process(const properties& of) {
  HEAPLAB_ASSERT(events_.empty() && sites_here_ == 0);
  const std::uint32_t number = processes_++;
  rules_ = {};
  events_before_ = 0;
  sites_before_ = 0;
  put_frame(frame_type::process, 1, 0, 0, bytes_of_text(of.encode()));
  return number;
}

std::uint32_t trace_writer::add_site(std::span<const std::uint64_t> frames) {
  HEAPLAB_ASSERT(processes_ != 0);
  put_varint(sites_, frames.size());
  for (const std::uint64_t address : frames) {
    put_varint(sites_, zigzag(address - site_address_));
    site_address_ = address;
  }
  return sites_before_ + ++sites_here_;
}

void trace_writer::flush_sites() {
  if (sites_here_ != 0) put_frame(frame_type::sites, sites_here_, sites_before_ + 1, 0, sites_);
  sites_before_ += sites_here_;
  sites_here_ = 0;
  site_address_ = 0;
  sites_.clear();
}

void trace_writer::add_lived(std::span<const event> blocks) {
  HEAPLAB_ASSERT(events_.empty() && events_before_ == 0);
  HEAPLAB_ASSERT_EXPENSIVE(are_lived(blocks));
  flush_sites();
  for (std::size_t first = 0; first < blocks.size(); first += frame_events) {
    const auto some = blocks.subspan(first, std::min(frame_events, blocks.size() - first));
    put_frame(frame_type::lived, static_cast<std::uint32_t>(some.size()), first, some.front().stamp,
              encode_events(some));
  }
}

void trace_writer::flush() {
  flush_sites();
  if (events_.empty()) return;
  put_frame(frame_type::events, static_cast<std::uint32_t>(events_.size()), events_before_,
            events_.front().stamp, encode_events(events_));
  events_before_ += events_.size();
  events_.clear();
}

void trace_writer::add_modules(std::string_view lines) {
  HEAPLAB_ASSERT(processes_ != 0);
  put_frame(frame_type::modules, 1, 0, 0, bytes_of_text(lines));
}

void trace_writer::add_build_ids(std::string_view lines) {
  HEAPLAB_ASSERT(processes_ != 0);
  put_frame(frame_type::build_ids, 1, 0, 0, bytes_of_text(lines));
}

void trace_writer::add_names(std::string_view lines) {
  HEAPLAB_ASSERT(processes_ != 0);
  put_frame(frame_type::names, 1, 0, 0, bytes_of_text(lines));
}

void trace_writer::end_process(const properties& summary) {
  HEAPLAB_ASSERT(processes_ != 0);
  flush();
  put_frame(frame_type::summary, 1, 0, 0, bytes_of_text(summary.encode()));
}

void trace_writer::close() {
  HEAPLAB_ASSERT(events_.empty() && sites_here_ == 0);
  const std::uint64_t index_offset = offset_;
  put_frame(frame_type::index, static_cast<std::uint32_t>(index_.size()), 0, 0,
            {reinterpret_cast<const std::uint8_t*>(index_.data()), index_.size() * sizeof(index_entry)});
  file_trailer trailer{index_offset, 0, trailer_magic};
  trailer.crc = crc_of(trailer);
  put(bytes_of(trailer));
  if (file_.close() != 0) throw trace_error(path_, std::strerror(errno));
}

}  // namespace heaplab::trace
