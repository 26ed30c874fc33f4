// The workload file: a recorded program, compiled for replay. docs/workload-format.md describes every field.
//
// All numbers are little-endian and all offsets count bytes from the beginning of the file:
//   header, 4096 bytes
//   segments of operations, each of one stream; the directory says in which order a stream takes them
//   the tables: streams, segments, sides, epochs
// Everything after the header is covered by header.checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heaplab::recorded {

// What an operation does. The numbers are part of the format.
enum class action : std::uint8_t {
  allocate = 0,          // malloc
  allocate_zeroed = 1,   // calloc
  allocate_aligned = 2,  // aligned_alloc, memalign, posix_memalign; always with a side
  create = 3,            // operator new, new[]
  create_aligned = 4,    // operator new, new[] with std::align_val_t; always with a side
  reallocate = 5,        // realloc; the next operation is `place`
  place = 6,             // where the block of the reallocate before goes; its size is that before
  release = 7,           // free
  destroy = 8,           // operator delete, delete[]
  destroy_sized = 9,     // the same with a size
  destroy_aligned = 10,  // the same with std::align_val_t; always with a side
  start_thread = 11,     // slot: number of the stream
  join_thread = 12,      // slot: number of the stream
  pass_epoch = 13,       // slot: number of the epoch
  wait_until = 14,       // time: not before so many microseconds after the start, where the pace is kept
  last = wait_until,
};

// One operation. `slot` names where the pointer to a block is kept. The value is the size in bytes, or, with
// has_side, the index of a side that holds size and alignment.
class operation {
public:
  static constexpr std::uint32_t most_value = (std::uint32_t{1} << 25) - 1;
  static constexpr std::uint64_t most_time = (std::uint64_t{1} << 57) - 1;

  constexpr operation() = default;
  constexpr operation(action what, std::uint32_t slot, std::uint32_t value = 0)
      : word_(static_cast<std::uint64_t>(what) | std::uint64_t{value} << value_shift |
              std::uint64_t{slot} << slot_shift) {}

  static constexpr operation until(std::uint64_t microseconds) {
    return operation(static_cast<std::uint64_t>(action::wait_until) | microseconds << value_shift);
  }

  constexpr operation with_side() const { return operation(word_ | side_bit); }
  // Another thread filled the slot: wait until its pointer is there.
  constexpr operation from_other_thread() const { return operation(word_ | remote_bit); }
  constexpr operation at(std::uint32_t slot) const {
    return operation((word_ & ((std::uint64_t{1} << slot_shift) - 1)) | std::uint64_t{slot} << slot_shift);
  }

  constexpr action what() const { return static_cast<action>(word_ & action_mask); }
  constexpr bool has_side() const { return (word_ & side_bit) != 0; }
  constexpr bool is_remote() const { return (word_ & remote_bit) != 0; }
  constexpr std::uint32_t value() const {
    return static_cast<std::uint32_t>(word_ >> value_shift) & most_value;
  }
  constexpr std::uint32_t slot() const { return static_cast<std::uint32_t>(word_ >> slot_shift); }
  constexpr std::uint64_t time() const { return word_ >> value_shift; }

  friend constexpr bool operator==(operation, operation) = default;

private:
  static constexpr std::uint64_t action_mask = 0x1f;
  static constexpr std::uint64_t side_bit = 0x20;
  static constexpr std::uint64_t remote_bit = 0x40;
  static constexpr unsigned value_shift = 7;
  static constexpr unsigned slot_shift = 32;

  explicit constexpr operation(std::uint64_t word) : word_(word) {}

  std::uint64_t word_ = 0;
};
static_assert(sizeof(operation) == 8);

// Size and alignment of a block that an operation has no room for. alignment 0: that of malloc.
struct side {
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 0;

  friend bool operator==(const side&, const side&) = default;
};

// A piece of a stream.
struct segment {
  std::uint64_t offset = 0;
  std::uint64_t operations = 0;
};

// What one thread does, or what is done before or after the clock runs.
struct stream {
  std::uint64_t first_segment = 0;
  std::uint64_t segments = 0;
  std::uint64_t operations = 0;
};

// The streams with a meaning of their own; those from `main_thread` on are threads.
inline constexpr std::uint32_t prologue = 0;     // allocates what lived when the recording began
inline constexpr std::uint32_t epilogue = 1;     // frees what lived when it ended
inline constexpr std::uint32_t main_thread = 2;  // starts the others, and joins all that nobody else joins

// A moment of the recorded program at which all its threads can be brought to the same place.
struct epoch {
  std::uint64_t time_us = 0;     // since the start of the recording
  std::uint64_t live_bytes = 0;  // as requested
  std::uint64_t live_blocks = 0;
  std::uint64_t threads = 0;  // that pass it
};

struct header {
  static constexpr std::array<char, 8> right_magic{'h', 'l', 'w', 'o', 'r', 'k', '\r', '\n'};
  static constexpr std::uint32_t right_version = 1;
  static constexpr std::size_t bytes = 4096;

  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  std::uint32_t streams = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t checksum = 0;  // of all bytes after the header, see checksum.h
  std::uint64_t streams_at = 0;
  std::uint64_t segments = 0;
  std::uint64_t segments_at = 0;
  std::uint64_t sides = 0;
  std::uint64_t sides_at = 0;
  std::uint64_t epochs = 0;
  std::uint64_t epochs_at = 0;
  std::uint64_t slots = 0;
  std::uint64_t operations = 0;   // of all streams
  std::uint64_t allocations = 0;  // calls of the threads, without realloc
  std::uint64_t reallocations = 0;
  std::uint64_t releases = 0;
  std::uint64_t remote_releases = 0;  // and reallocations, of blocks that another thread allocated
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t peak_live_blocks = 0;
  std::uint64_t duration_us = 0;  // of the recording
  // What the trace held and a replay cannot: see docs/workload-format.md.
  std::uint64_t unknown_releases = 0;  // of addresses that nobody had allocated
  std::uint64_t doubled_blocks = 0;    // allocations at an address that was still in use
  std::uint64_t failed_calls = 0;      // allocations that returned null
  std::uint64_t lost_events = 0;       // that the recorder counted and could not keep
  std::uint64_t header_checksum = 0;   // of the fields before it
};
static_assert(sizeof(header) <= header::bytes);

}  // namespace heaplab::recorded
