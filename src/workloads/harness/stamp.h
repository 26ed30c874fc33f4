// Contents by which a workload checks that a block is aligned, overlaps no other block, and keeps its
// contents. Both ends of a block hold one byte repeated, so that the cost does not depend on the size of the
// block.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/assertion.h"
#include "base/bits.h"
#include "base/compiler.h"

namespace heaplab::harness {

// A block and its requested size. `start` is null while there is no block.
struct block {
  void* start = nullptr;
  std::size_t bytes = 0;
};

// The heap under test has broken a block: ends the program with one line and exit status 1. The program ends
// at once, because nothing else in the process can be relied on.
[[noreturn, gnu::noinline, gnu::cold]] void broken_block(block broken, const char* what);

// Ends the program like broken_block, where no single block is known. `what` says what was expected.
[[noreturn, gnu::noinline, gnu::cold]] void broken_contents(const char* what);

// The alignment that malloc guarantees for a block of this size: that of the largest fundamental type that
// fits.
inline std::size_t required_alignment(std::size_t bytes) {
  return bytes >= alignof(std::max_align_t) ? alignof(std::max_align_t) : std::bit_floor(bytes);
}

// The stamp of the object with this number; stamps of neighbouring numbers differ.
constexpr std::uint8_t stamp_of(std::uint64_t number) {
  return static_cast<std::uint8_t>(number);
}

namespace stamp_detail {

inline std::uint64_t repeated(std::uint8_t stamp) {
  return stamp * std::uint64_t{0x0101010101010101};
}

inline bool starts_with(const std::byte* at, std::uint8_t stamp, std::size_t bytes) {
  if (bytes < sizeof(std::uint64_t)) return *at == std::byte{stamp};
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word == repeated(stamp);
}

}  // namespace stamp_detail

// Writes the stamp to the first and last word of the block, or to the first and last byte of a smaller block.
HEAPLAB_FAST_PATH void write_stamp(block target, std::uint8_t stamp) {
  HEAPLAB_ASSERT(target.start != nullptr || target.bytes == 0);
  auto* const first = static_cast<std::byte*>(target.start);
  if (target.bytes >= sizeof(std::uint64_t)) [[likely]] {
    const std::uint64_t word = stamp_detail::repeated(stamp);
    std::memcpy(first, &word, sizeof word);
    std::memcpy(first + target.bytes - sizeof word, &word, sizeof word);
  } else if (target.bytes > 0) {
    first[0] = first[target.bytes - 1] = std::byte{stamp};
  }
}

// Writes the stamp to every byte from the offset `from` on.
inline void fill_with_stamp(block target, std::uint8_t stamp, std::size_t from = 0) {
  HEAPLAB_ASSERT(from <= target.bytes);
  std::memset(static_cast<std::byte*>(target.start) + from, stamp, target.bytes - from);
}

// Whether both ends still carry the stamp.
HEAPLAB_FAST_PATH bool has_stamp(block target, std::uint8_t stamp) {
  if (target.bytes == 0) return true;
  const auto* const first = static_cast<const std::byte*>(target.start);
  const std::size_t last = target.bytes - std::min(target.bytes, sizeof(std::uint64_t));
  return stamp_detail::starts_with(first, stamp, target.bytes) &&
         (target.bytes < sizeof(std::uint64_t)
              ? first[target.bytes - 1] == std::byte{stamp}
              : stamp_detail::starts_with(first + last, stamp, target.bytes));
}

// Checks the alignment of a new block and stamps it.
HEAPLAB_FAST_PATH void accept_block(block fresh, std::uint8_t stamp) {
  if (!is_aligned(fresh.start, required_alignment(fresh.bytes))) [[unlikely]]
    broken_block(fresh, "is not aligned");
  write_stamp(fresh, stamp);
}

HEAPLAB_FAST_PATH void expect_stamp(block held, std::uint8_t stamp) {
  if (!has_stamp(held, stamp)) [[unlikely]]
    broken_block(held, "does not hold what was written into it");
}

// `bytes` > 0.
template <class Heap>
HEAPLAB_FAST_PATH block allocate_stamped(Heap& heap, std::size_t bytes, std::uint8_t stamp) {
  const block fresh{heap.allocate(bytes), bytes};
  accept_block(fresh, stamp);
  return fresh;
}

template <class Heap>
HEAPLAB_FAST_PATH void release_stamped(Heap& heap, block held, std::uint8_t stamp) {
  expect_stamp(held, stamp);
  heap.release(held.start);
}

// Resizes a block (`bytes` > 0) and checks that its contents were kept.
template <class Heap>
HEAPLAB_FAST_PATH block reallocate_stamped(Heap& heap, block held, std::size_t bytes, std::uint8_t stamp) {
  expect_stamp(held, stamp);
  const block moved{heap.reallocate(held.start, bytes), bytes};
  const std::size_t common = std::min(held.bytes, bytes);
  const bool kept = common == held.bytes ? has_stamp({moved.start, common}, stamp)
                                         : stamp_detail::starts_with(
                                               static_cast<const std::byte*>(moved.start), stamp, common);
  if (!kept) [[unlikely]]
    broken_block(moved, "lost its contents when it was reallocated");
  accept_block(moved, stamp);
  return moved;
}

}  // namespace heaplab::harness
