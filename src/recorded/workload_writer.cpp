#include "recorded/workload_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/assertion.h"
#include "base/bits.h"
#include "recorded/checksum.h"
#include "recorded/file_error.h"

namespace heaplab::recorded {

namespace {

constexpr std::uint64_t growth = std::uint64_t{16} << 20;
constexpr std::uint64_t first_segment =
    512;  // operations; each further segment of a stream is twice as large as the one before
constexpr std::uint64_t most_segment = 64 * std::uint64_t{1024};

}  // namespace

workload_writer::workload_writer(std::string path)
    : path_(std::move(path)), temporary_(path_ + ".part" + std::to_string(::getpid())) {
  file_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail("cannot be written", errno);
}

workload_writer::~workload_writer() {
  if (start_ != nullptr) ::munmap(start_, allotted_);
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

std::uint32_t workload_writer::add_stream() {
  streams_.emplace_back();
  return static_cast<std::uint32_t>(streams_.size() - 1);
}

workload_writer::place_in_file workload_writer::add(std::uint32_t stream, operation added) {
  HEAPLAB_ASSERT(stream < streams_.size());
  open_stream& to = streams_[stream];
  if (to.room == 0) open_segment(to);
  segment& last = to.segments.back();
  const place_in_file where = last.offset + last.operations * sizeof(operation);
  std::memcpy(start_ + where, &added, sizeof added);
  ++last.operations;
  ++to.operations;
  --to.room;
  return where;
}

void workload_writer::move(place_in_file where, std::uint32_t slot) {
  HEAPLAB_ASSERT(where >= header::bytes && where + sizeof(operation) <= used_ &&
                 where % sizeof(operation) == 0);
  operation moved;
  std::memcpy(&moved, start_ + where, sizeof moved);
  moved = moved.at(slot);
  std::memcpy(start_ + where, &moved, sizeof moved);
}

std::uint32_t workload_writer::add_side(side added) {
  HEAPLAB_ASSERT(added.alignment == 0 || is_power_of_two(added.alignment));
  const auto [found, is_new] = side_of_.try_emplace(added, static_cast<std::uint32_t>(sides_.size()));
  if (!is_new) return found->second;
  if (sides_.size() > operation::most_value)
    throw file_error(path_ + ": the trace has more than 33,554,432 different sizes and alignments");
  sides_.push_back(added);
  return found->second;
}

header workload_writer::finish(header head) {
  std::vector<stream> streams;
  std::vector<segment> segments;
  head.operations = 0;
  for (const open_stream& open : streams_) {
    streams.push_back({segments.size(), open.segments.size(), open.operations});
    segments.insert(segments.end(), open.segments.begin(), open.segments.end());
    head.operations += open.operations;
  }
  head.magic = header::right_magic;
  head.version = header::right_version;
  head.streams = static_cast<std::uint32_t>(streams.size());
  head.streams_at = write_table(streams);
  head.segments = segments.size();
  head.segments_at = write_table(segments);
  head.sides = sides_.size();
  head.sides_at = write_table(sides_);
  head.epochs = epochs_.size();
  head.epochs_at = write_table(epochs_);
  head.censuses = censuses_.size();
  head.censuses_at = write_table(censuses_);
  head.survivors = survivors_.size();
  head.survivors_at = write_table(survivors_);
  for (const survivor& alive : survivors_) head.sites = std::max(head.sites, std::uint64_t{alive.site});
  head.file_bytes = used_;
  head.checksum = checksum({start_ + header::bytes, static_cast<std::size_t>(used_ - header::bytes)});
  head.header_checksum =
      checksum(std::as_bytes(std::span(&head, 1)).first(offsetof(header, header_checksum)));
  std::memcpy(start_, &head, sizeof head);
  if (::ftruncate(file_, static_cast<off_t>(used_)) != 0) fail("cannot be written", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be written", errno);
  ::close(file_);
  file_ = -1;
  return head;
}

void workload_writer::open_segment(open_stream& wanting) {
  const std::uint64_t operations =
      std::min(most_segment, first_segment << std::min<std::size_t>(wanting.segments.size(), 7));
  wanting.segments.push_back({take(operations * sizeof(operation)), 0});
  wanting.room = operations;
}

// Disk blocks are allocated before the pages are touched: on a full disk a write through a mapping raises
// SIGBUS.
std::uint64_t workload_writer::take(std::uint64_t bytes) {
  const std::uint64_t at = used_;
  used_ += bytes;
  if (used_ > allotted_) grow(align_up(used_, growth));
  return at;
}

void workload_writer::grow(std::uint64_t wanted) {
  const int error =
      ::posix_fallocate(file_, static_cast<off_t>(allotted_), static_cast<off_t>(wanted - allotted_));
  if (error != 0) fail("cannot be written", error);
  void* const mapped = start_ == nullptr
                           ? ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0)
                           : ::mremap(start_, allotted_, wanted, MREMAP_MAYMOVE);
  if (mapped == MAP_FAILED) fail("cannot be mapped", errno);
  start_ = static_cast<std::byte*>(mapped);
  allotted_ = wanted;
}

template <class T>
std::uint64_t workload_writer::write_table(const std::vector<T>& table) {
  const std::uint64_t at = take(table.size() * sizeof(T));
  if (!table.empty()) std::memcpy(start_ + at, table.data(), table.size() * sizeof(T));
  return at;
}

void workload_writer::fail(const char* what, int error) const {
  throw file_error(path_ + ": the workload file " + what + ": " + std::strerror(error));
}

}  // namespace heaplab::recorded
