#include "trace/finish/raw_process.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string>

#include "trace/file/trace_error.h"

namespace heaplab::trace {

namespace {

constexpr std::uint64_t most_threads = 1ULL << 32;
constexpr std::uint64_t smallest_alignment = 8;  // of blocks: a smaller number is no address

template <std::size_t Room>
std::string text_in(const char (&room)[Room]) {
  return {room, strnlen(room, Room)};
}

// Reads zero-terminated texts one after another, up to an empty one.
template <std::size_t Room>
std::string texts_in(const char (&room)[Room]) {
  std::size_t length = 0;
  while (length < Room && room[length] != '\0') length += strnlen(room + length, Room - length) + 1;
  return {room, std::min(length, Room)};
}

}  // namespace

raw_process::raw_process(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (!file_.is_open()) throw trace_error(path, std::strerror(errno));
  read_header();
  read_code();
  find_segments();
  std::erase_if(threads_, [](const thread& t) { return t.segments.empty(); });
  std::sort(threads_.begin(), threads_.end(),
            [](const thread& a, const thread& b) { return a.first_stamp < b.first_stamp; });
}

bool raw_process::reached_recording() const {
  return !threads_.empty() || std::ranges::any_of(of_.lost, [](std::uint64_t calls) { return calls != 0; });
}

std::size_t raw_process::read(std::uint64_t offset, raw_record* records, std::size_t count) const {
  const ssize_t got =
      ::pread(file_.number(), records, count * sizeof(raw_record), static_cast<off_t>(offset));
  return got <= 0 ? 0 : static_cast<std::size_t>(got) / sizeof(raw_record);
}

void raw_process::read_header() {
  const auto header = std::make_unique<raw_header>();
  const ssize_t got = ::pread(file_.number(), static_cast<void*>(header.get()), sizeof *header, 0);
  if (got != sizeof *header || header->magic != raw_magic)
    throw trace_error(path_, "its process was killed before anything was recorded");
  of_.stamps = header->stamps;
  of_.pid = header->pid;
  of_.parent_pid = header->parent_pid;
  of_.forked = header->forked != 0;
  of_.ended = header->ended != 0;
  of_.begin = header->begin;
  of_.latest = header->latest;
  of_.instructions = header->instructions.load(std::memory_order_relaxed);
  of_.uncounted_threads = header->uncounted_threads.load(std::memory_order_relaxed);
  for (const raw_header::stripe& stripe : header->lost)
    for (std::size_t why = 0; why < losses; ++why)
      of_.lost[why] += stripe.calls[why].load(std::memory_order_relaxed);
  of_.error = header->error.load(std::memory_order_relaxed);
  of_.bytes = header->bytes.load(std::memory_order_relaxed);
  of_.allocator = text_in(header->allocator);
  of_.program = text_in(header->program);
  of_.executable = text_in(header->executable);
  of_.arguments = texts_in(header->arguments);
}

// Lines of the kernel: START-END PERMISSIONS ...
void raw_process::read_code() {
  std::ifstream maps(std::filesystem::path(path_).replace_extension(".maps"));
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uint64_t start = 0, end = 0;
    char dash = 0;
    std::string permissions;
    if (words >> std::hex >> start >> dash >> end >> permissions &&
        permissions.find('x') != std::string::npos)
      code_[start] = std::max(code_[start], end);
  }
}

bool raw_process::is_code(std::uint64_t address) const {
  const auto behind = code_.upper_bound(address);
  return code_.empty() || (behind != code_.begin() && address <= std::prev(behind)->second);
}

std::vector<std::uint64_t> raw_process::stack(std::uint64_t site) const {
  raw_record parts[(most_frames + 2) / 3];
  const std::size_t got = read(site & ~stack_bit, parts, std::size(parts));
  const std::size_t count = got == 0 ? 0 : address_of(parts[0]);
  std::vector<std::uint64_t> addresses;
  for (const raw_record& part : std::span(parts).first(got)) {
    if (kind_of(part) != stack_part) break;
    for (const std::uint64_t address : {part.stamp, part.size, part.site}) {
      if (addresses.size() == count || (!addresses.empty() && !is_code(address))) return addresses;
      addresses.push_back(address);
    }
  }
  return addresses;
}

void raw_process::find_segments() {
  for (std::uint64_t offset = raw_header_bytes; offset < of_.bytes;) {
    raw_chunk chunk{};
    const ssize_t got = ::pread(file_.number(), &chunk, sizeof chunk, static_cast<off_t>(offset));
    if (got != sizeof chunk) return;
    // A process that was killed between taking the space and describing the chunk leaves zeros.
    const bool table = chunk.magic == table_magic;
    const bool whole = (table || chunk.magic == chunk_magic) && chunk.offset == offset &&
                       chunk.bytes >= raw_unit && chunk.bytes % raw_unit == 0;
    if (whole && table) tables_.push_back(chunk);
    if (whole && !table) enter_chunk(offset, chunk);
    offset += whole ? chunk.bytes : raw_unit;
  }
}

void raw_process::each_lived(const std::function<void(const raw_record&)>& visit) const {
  constexpr std::size_t at_once = 512;  // buckets
  std::vector<raw_bucket> buckets(at_once);
  for (const raw_chunk& table : tables_) {
    for (std::size_t first = 1; first <= buckets_of(table); first += at_once) {
      const std::size_t count = std::min(at_once, buckets_of(table) + 1 - first);
      const std::uint64_t at = table.offset + first * sizeof(raw_bucket);
      const ssize_t got =
          ::pread(file_.number(), buckets.data(), count * sizeof(raw_bucket), static_cast<off_t>(at));
      if (got != static_cast<ssize_t>(count * sizeof(raw_bucket))) break;
      for (const raw_bucket& bucket : std::span(buckets).first(count))
        for (const raw_live_block& block : bucket.blocks)
          if (address_in(block.what) >= smallest_alignment) visit({0, block.what, block.size, block.site});
    }
  }
}

// A chunk of one thread is assigned by its first record; in a chunk that was handed on, every record is
// looked at.
void raw_process::enter_chunk(std::uint64_t offset, const raw_chunk& chunk) {
  const std::uint32_t all = chunk.bytes / static_cast<std::uint32_t>(sizeof(raw_record)) - 1;
  std::vector<raw_record> records(chunk.handed_on != 0 ? all : 1);
  const std::uint64_t first = offset + sizeof chunk;
  records.resize(read(first, records.data(), records.size()));
  std::uint32_t end = all;
  for (auto at = static_cast<std::uint32_t>(records.size()); at-- > 0;) {
    const raw_record& record = records[at];
    if (record.stamp == 0 || kind_of(record) != kind::thread_begin) continue;
    enter_segment(record, first + at * sizeof(raw_record), end - at);
    end = at;
  }
}

void raw_process::enter_segment(const raw_record& begin, std::uint64_t offset, std::uint32_t records) {
  const std::uint64_t number = begin.site;
  if (number == 0 || number >= most_threads) return;
  if (number > threads_.size()) threads_.resize(number);
  thread& of = threads_[number - 1];
  const segment added{offset, records, begin.stamp};
  of.segments.insert(
      std::upper_bound(of.segments.begin(), of.segments.end(), added,
                       [](const segment& a, const segment& b) { return a.first_stamp < b.first_stamp; }),
      added);
  of.first_stamp = of.segments.front().first_stamp;
  of.system_id = begin.size;
  of.handle = address_of(begin);
}

}  // namespace heaplab::trace
