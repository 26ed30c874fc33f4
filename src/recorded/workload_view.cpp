#include "recorded/workload_view.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "recorded/checksum.h"
#include "recorded/file_error.h"

namespace heaplab::recorded {

namespace {

// Maps the file with all pages resident. Returns nullptr, or the reason of the failure.
const char* map_whole(const std::string& path, const std::byte*& start, std::size_t& bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::strerror(errno);
  struct stat status{};
  const char* fault = nullptr;
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    fault = "not a file";
  } else if (status.st_size == 0) {
    fault = "empty";
  } else {
    bytes = static_cast<std::size_t>(status.st_size);
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    if (mapped == MAP_FAILED) fault = std::strerror(errno);
    if (mapped != MAP_FAILED) start = static_cast<const std::byte*>(mapped);
  }
  ::close(file);
  return fault;
}

// The fault of the header of a file of `bytes` bytes; nullptr: none.
const char* fault_of(const header& head, std::size_t bytes) {
  if (head.magic != header::right_magic) return "not a workload file";
  if (head.version != header::right_version)
    return "a workload file of another version; compile the trace again";
  const auto whole = std::as_bytes(std::span(&head, 1)).first(offsetof(header, header_checksum));
  if (head.header_checksum != checksum(whole)) return "damaged";
  if (head.file_bytes != bytes) return "cut off";
  return nullptr;
}

bool lies_within(std::uint64_t at, std::uint64_t count, std::size_t each, std::size_t bytes) {
  return at >= header::bytes && at <= bytes && at % alignof(operation) == 0 && count <= (bytes - at) / each;
}

bool tables_fit(const header& head, std::size_t bytes) {
  return head.streams > main_thread && lies_within(head.streams_at, head.streams, sizeof(stream), bytes) &&
         lies_within(head.segments_at, head.segments, sizeof(segment), bytes) &&
         lies_within(head.sides_at, head.sides, sizeof(side), bytes) &&
         lies_within(head.epochs_at, head.epochs, sizeof(epoch), bytes) &&
         lies_within(head.censuses_at, head.censuses, sizeof(census), bytes) &&
         lies_within(head.survivors_at, head.survivors, sizeof(survivor), bytes);
}

// Whether everything that the operation names exists.
bool is_sound(operation step, const header& head) {
  switch (step.what()) {
    case action::wait_until:
      return true;
    case action::start_thread:
    case action::join_thread:
      return step.slot() > main_thread && step.slot() < head.streams;
    case action::pass_epoch:
      return step.slot() < head.epochs;
    case action::allocate_aligned:
    case action::create_aligned:
    case action::destroy_aligned:
      if (!step.has_side()) return false;
      break;
    default:
      if (step.what() > action::last) return false;
  }
  return step.slot() < head.slots && (!step.has_side() || step.value() < head.sides);
}

// Whether `reallocate` and `place` come in pairs within the stream.
bool is_sound(const workload_view& view, const stream& which) {
  if (which.segments > view.head().segments || which.first_segment > view.head().segments - which.segments)
    return false;
  bool open = false;
  for (const segment& piece : view.segments_of(which)) {
    if (!lies_within(piece.offset, piece.operations, sizeof(operation), view.head().file_bytes)) return false;
    for (const operation next : view.operations_of(piece)) {
      if (!is_sound(next, view.head()) || open != (next.what() == action::place)) return false;
      open = next.what() == action::reallocate;
    }
  }
  return !open;
}

bool is_sound(const workload_view& view, const census& taken) {
  const header& head = view.head();
  if (taken.epoch >= head.epochs || taken.why > occasion::last || taken.survivors > head.survivors ||
      taken.first_survivor > head.survivors - taken.survivors)
    return false;
  const auto survivors = view.survivors_of(taken);
  return std::all_of(survivors.begin(), survivors.end(), [&](const survivor& block) {
    return block.slot < head.slots && block.site <= head.sites;
  });
}

}  // namespace

workload_view::workload_view(const std::string& path) {
  const char* fault = map_whole(path, start_, bytes_);
  if (fault == nullptr && bytes_ < header::bytes) fault = "not a workload file";
  if (fault == nullptr) fault = fault_of(head(), bytes_);
  if (fault == nullptr && checksum({start_ + header::bytes, bytes_ - header::bytes}) != head().checksum)
    fault = "damaged";
  bool sound = fault == nullptr && tables_fit(head(), bytes_);
  if (sound)
    for (const stream& which : streams()) sound = sound && is_sound(*this, which);
  if (sound)
    for (const census& taken : censuses()) sound = sound && is_sound(*this, taken);
  if (fault == nullptr && !sound) fault = "a workload file that names what it does not hold";
  if (fault == nullptr) return;
  if (start_ != nullptr) ::munmap(const_cast<std::byte*>(start_), bytes_);
  throw file_error(path + ": " + fault);
}

workload_view::~workload_view() {
  ::munmap(const_cast<std::byte*>(start_), bytes_);
}

}  // namespace heaplab::recorded
