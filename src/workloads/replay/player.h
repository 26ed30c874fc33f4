#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/compiler.h"
#include "base/os_pages.h"
#include "recorded/workload_view.h"
#include "workloads/replay/recorded_heap.h"
#include "workloads/replay/slot.h"
#include "workloads/replay/waiting.h"

namespace heaplab::replay {

enum class touched { none, first, all };

// Writes to a new block: nothing, its first byte and the first byte of each further page, or every byte.
template <touched Touched>
HEAPLAB_FAST_PATH void touch(void* block, std::size_t bytes) {
  auto* const start = static_cast<std::byte*>(block);
  if constexpr (Touched == touched::all) std::memset(start, 0x5a, bytes);
  if constexpr (Touched == touched::first)
    for (std::size_t at = 0; at < bytes; at += os_pages::page_bytes()) start[at] = std::byte{0x5a};
}

// Carries out the operations of one stream. Crew provides the operations that concern other threads:
//   start(stream), join(stream, counts), pass_epoch(epoch, live, counts), keep_pace(microseconds)
// and those on blocks that live apart:
//   allocate_apart(bytes, alignment), release_apart(block, bytes, alignment, is_remote)
// If Crew::sees_blocks, filled(block, bytes) hears of each
// new block.
template <class Heap, touched Touched, class Crew>
class player {
public:
  player(const recorded::workload_view& work, std::span<slot> slots, Heap& heap, Crew& crew)
      : work_(work), sides_(work.sides().data()), slots_(slots.data()), heap_(heap), crew_(crew) {}

  void play(std::uint32_t stream) {
    for (const recorded::segment& piece : work_.segments_of(work_.streams()[stream])) {
      const std::span<const operation> operations = work_.operations_of(piece);
      const std::size_t ahead = operations.size() - std::min(operations.size(), prefetched);
      std::size_t at = 0;
      for (; at < ahead; ++at) {
        __builtin_prefetch(slots_ + operations[at + prefetched].slot(), 1);
        carry_out(operations[at]);
      }
      for (; at < operations.size(); ++at) carry_out(operations[at]);
    }
  }

  // Bytes allocated less bytes freed by this stream.
  std::int64_t live() const { return live_; }
  const wait_counts& counts() const { return counts_; }

private:
  using operation = recorded::operation;

  // A slot is prefetched this many operations ahead: some 50 ns or more, the latency of memory.
  static constexpr std::size_t prefetched = 16;

  HEAPLAB_FAST_PATH void carry_out(operation next) {
    const std::size_t bytes = bytes_of(next);
    switch (next.what()) {
      case action::allocate:
        return fill(next, heap_.allocate(bytes), bytes);
      case action::allocate_zeroed:
        return fill(next, heap_.allocate_zeroed(bytes), bytes);
      case action::create:
        return fill(next, heap_.create(bytes), bytes);
      case action::release:
        return empty(bytes, [&](void* block) { heap_.release(block); }, next);
      case action::destroy:
        return empty(bytes, [&](void* block) { heap_.destroy(block); }, next);
      case action::destroy_sized:
        return empty(bytes, [&](void* block) { heap_.destroy_sized(block, bytes); }, next);
      case action::reallocate:
        moved_ = heap_.reallocate(taken(next), bytes);
        moved_bytes_ = bytes;
        return;
      case action::place:
        live_ -= static_cast<std::int64_t>(bytes);
        return fill(next, moved_, moved_bytes_);
      case action::allocate_apart:
        return fill(next, apart_block(bytes, alignment_of(next)), bytes);
      case action::release_apart:
        return empty(
            bytes,
            [&](void* block) { crew_.release_apart(block, bytes, alignment_of(next), next.is_remote()); },
            next);
      default:
        return carry_out_rare(next, bytes);
    }
  }

  void carry_out_rare(operation next, std::size_t bytes) {
    switch (next.what()) {
      case action::allocate_aligned:
        return fill(next, heap_.allocate_aligned(sides_[next.value()]), bytes);
      case action::create_aligned:
        return fill(next, heap_.create_aligned(sides_[next.value()]), bytes);
      case action::destroy_aligned:
        return empty(
            bytes, [&](void* block) { heap_.destroy_aligned(block, sides_[next.value()].alignment); }, next);
      case action::start_thread:
        return crew_.start(next.slot());
      case action::join_thread:
        return crew_.join(next.slot(), counts_);
      case action::pass_epoch:
        return crew_.pass_epoch(next.slot(), live_, counts_);
      case action::wait_until:
        return crew_.keep_pace(next.time());
      default:
        return;
    }
  }

  HEAPLAB_FAST_PATH std::size_t bytes_of(operation next) const {
    if (!next.has_side()) [[likely]]
      return next.value();
    return names_block(next.what()) ? sides_[next.value()].bytes : 0;
  }

  static bool names_block(action what) {
    return what < action::start_thread || what >= action::allocate_apart;
  }

  std::size_t alignment_of(operation next) const {
    return next.has_side() ? sides_[next.value()].alignment : 0;
  }

  void* apart_block(std::size_t bytes, std::size_t alignment) {
    void* const block = crew_.allocate_apart(bytes, alignment);
    if (block == nullptr) harness::out_of_memory(bytes);
    return block;
  }

  HEAPLAB_FAST_PATH void fill(operation next, void* block, std::size_t bytes) {
    touch<Touched>(block, bytes);
    if constexpr (Crew::sees_blocks) crew_.filled(block, bytes);
    // release pairs with the acquire in another thread's awaited(). This thread itself needs no order.
    slots_[next.slot()].store(block, std::memory_order_release);
    live_ += static_cast<std::int64_t>(bytes);
  }

  template <class Release>
  HEAPLAB_FAST_PATH void empty(std::size_t bytes, Release release, operation next) {
    release(taken(next));
    live_ -= static_cast<std::int64_t>(bytes);
  }

  HEAPLAB_FAST_PATH void* taken(operation next) {
    slot& from = slots_[next.slot()];
    if (next.is_remote()) return awaited(from);
    // relaxed: this thread filled the slot.
    return from.load(std::memory_order_relaxed);
  }

  // Waits for another thread to fill the slot, which is filled once in a run.
  void* awaited(slot& from) {
    void* block = nullptr;
    wait_until_ready(counts_, [&] {
      // acquire pairs with the release in fill() on the thread that allocated the block.
      block = from.load(std::memory_order_acquire);
      return block != nullptr;
    });
    return block;
  }

  const recorded::workload_view& work_;
  const recorded::side* sides_;
  slot* slots_;
  recorded_heap<Heap> heap_;
  Crew& crew_;
  void* moved_ = nullptr;  // the block between `reallocate` and `place`
  std::size_t moved_bytes_ = 0;
  std::int64_t live_ = 0;
  wait_counts counts_;
};

}  // namespace heaplab::replay
