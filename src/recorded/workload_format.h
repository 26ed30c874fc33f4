// The workload file: a recorded program, compiled for replay. docs/workload-format.md describes every field.
//
// All numbers are little-endian and all offsets count bytes from the beginning of the file:
//   header, 4096 bytes
//   segments of operations, each of one stream; the directory holds their order within a stream
//   the directory: tables of streams, segments, sides, epochs, censuses, survivors
// Everything after the header is covered by header.checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/assertion.h"

namespace heaplab::recorded {

// The action of an operation. The numbers are part of the format.
enum class action : std::uint8_t {
  allocate = 0,          // malloc
  allocate_zeroed = 1,   // calloc
  allocate_aligned = 2,  // aligned_alloc, memalign, posix_memalign; always with a side
  create = 3,            // operator new, new[]
  create_aligned = 4,    // operator new, new[] with std::align_val_t; always with a side
  reallocate = 5,        // realloc; the next operation is `place`
  place = 6,             // the slot for the result of the preceding `reallocate`; the size stands there
  release = 7,           // free
  destroy = 8,           // operator delete, delete[]
  destroy_sized = 9,     // the same with a size
  destroy_aligned = 10,  // the same with std::align_val_t; always with a side
  start_thread = 11,     // slot: number of the stream
  join_thread = 12,      // slot: number of the stream
  pass_epoch = 13,       // slot: number of the epoch
  wait_until = 14,       // time: with the recorded pace, wait until so many microseconds after the start
  allocate_apart = 15,   // in a heap of its own, beside the heap under test
  release_apart = 16,    // the block of an allocate_apart, with its size and alignment
  last = release_apart,
};

// One operation. The slot holds the pointer to the block. The value is the size in bytes or, with has_side,
// the index of a side that holds size and alignment.
class operation {
public:
  static constexpr std::uint32_t most_value = (std::uint32_t{1} << 25) - 1;
  static constexpr std::uint64_t most_time = (std::uint64_t{1} << 57) - 1;

  constexpr operation() = default;
  // Precondition: the value is at most most_value.
  constexpr operation(action what, std::uint32_t slot, std::uint32_t value = 0)
      : word_(static_cast<std::uint64_t>(what) | std::uint64_t{value} << value_shift |
              std::uint64_t{slot} << slot_shift) {
    HEAPLAB_ASSERT(what <= action::last && value <= most_value);
  }

  // Precondition: the time is at most most_time.
  static constexpr operation until(std::uint64_t microseconds) {
    HEAPLAB_ASSERT(microseconds <= most_time);
    return operation(static_cast<std::uint64_t>(action::wait_until) | microseconds << value_shift);
  }

  constexpr operation with_side() const { return operation(word_ | side_bit); }
  // Marks an operation on a slot that another thread fills: it waits for the pointer.
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

// Size and alignment of a block, if they do not fit into an operation. Alignment 0: the alignment of malloc.
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

// The operations of one thread, or those before or after the clock runs.
struct stream {
  std::uint64_t first_segment = 0;
  std::uint64_t segments = 0;
  std::uint64_t operations = 0;
};

// Streams with a meaning of their own; the streams from `main_thread` on are threads.
inline constexpr std::uint32_t prologue = 0;  // allocates the blocks that were live when the recording began
inline constexpr std::uint32_t epilogue = 1;  // frees the blocks that were live when the recording ended
inline constexpr std::uint32_t main_thread = 2;  // starts threads, and joins those that no other thread joins

// A moment of the recorded program to which all threads of a replay can be brought.
struct epoch {
  std::uint64_t time_us = 0;     // since the start of the recording
  std::uint64_t live_bytes = 0;  // as requested
  std::uint64_t live_blocks = 0;
  std::uint64_t threads = 0;  // number of threads that pass the epoch
};

// Why a moment was chosen for a census.
enum class occasion : std::uint64_t {
  sample = 0,  // one of some that follow each other evenly
  trough = 1,  // few bytes live after a peak
  peak = 2,    // the most bytes live
  end = 3,     // after the last event
  last = end,
};

// A moment at which a replay can tell what holds the memory: all threads meet at `epoch`.
struct census {
  std::uint64_t epoch = 0;
  occasion why = occasion::sample;
  std::uint64_t first_survivor = 0;
  std::uint64_t survivors = 0;
};

// A block that lives at a census.
struct survivor {
  std::uint64_t bytes = 0;
  std::uint64_t age_us = 0;
  std::uint32_t slot = 0;
  std::uint32_t site = 0;      // the call site's number in the trace; 0: unknown
  std::uint64_t is_apart = 0;  // 1: in the heap of allocate_apart
};

struct header {
  static constexpr std::array<char, 8> right_magic{'h', 'l', 'w', 'o', 'r', 'k', '\r', '\n'};
  static constexpr std::uint32_t right_version = 2;
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
  std::uint64_t remote_releases = 0;  // releases and reallocations of blocks that another thread allocated
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t peak_live_blocks = 0;
  std::uint64_t duration_us = 0;  // of the recording
  // Events of the trace that a replay cannot repeat: see docs/workload-format.md.
  std::uint64_t unknown_releases = 0;  // releases of addresses at which no block was known
  std::uint64_t doubled_blocks = 0;    // allocations at an address that was still in use
  std::uint64_t failed_calls = 0;      // allocations that returned null
  std::uint64_t lost_events = 0;       // events that the recorder counted but could not write
  std::uint64_t censuses = 0;
  std::uint64_t censuses_at = 0;
  std::uint64_t survivors = 0;
  std::uint64_t survivors_at = 0;
  std::uint64_t sites = 0;            // the numbers of the survivors' sites are at most this
  std::uint64_t header_checksum = 0;  // of all fields before this one
};
static_assert(sizeof(header) <= header::bytes);

}  // namespace heaplab::recorded
