// The free blocks that a thread has at hand: a list for each size class, whoever owns the spans of the
// blocks. malloc pops and free pushes, without a look at a span: the page map says which list takes a block.
// Of blocks smaller than a cache line there are further lists, for those that threads with other numbers
// allocated: these blocks only wait there until some go home together (list_numbers.h).
//
// A listed block is live to its span, so that spans, holes and the pool know nothing of lists. Many blocks
// move at once: where a list is empty it gets all free blocks of a span, and where it is full all blocks but
// the newest go home (returned_blocks.h).
//
// A fork may copy the thread at any instruction: the child may lose blocks, and finds none twice.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "allocators/scalloc/policy/list_numbers.h"
#include "allocators/scalloc/policy/size_classes.h"
#include "base/cache_line.h"
#include "base/compiler.h"
#include "base/narrow.h"
#include "concurrent/owned_counter.h"

namespace heaplab::scalloc {

// The mark of a free block, its second word, tells a second free. A program may have the same word in a live
// block, so that a marked block is looked for in the lists of free blocks.
HEAPLAB_FAST_PATH bool is_marked(const void* block, const void* with) {
  return static_cast<const void* const*>(block)[1] == with;
}
HEAPLAB_FAST_PATH void mark(void* block, const void* with) {
  static_cast<const void**>(block)[1] = with;
}

// Of one thread, but for count().
template <class Traits>
class free_lists {
  using classes = typename Traits::classes;
  using numbers = list_numbers<Traits::config>;

public:
  constexpr free_lists() {
    for (unsigned index = 0; index < classes::count; ++index)
      limit_[index] = classes::table[index].most_cached;
  }

  // --- the fast path ---

  // Null: the list is empty.
  HEAPLAB_FAST_PATH void* pop(std::size_t list) {
    void* const block = first_[list];
    if (block == nullptr) [[unlikely]]
      return nullptr;
    first_[list] = next_of(block);
    room_[list].increment();
    mark(block, nullptr);
    return block;
  }

  // Counts a block that is to be pushed. False: the list is full, and its count is right again only after
  // cut() or refuse().
  HEAPLAB_FAST_PATH bool has_room(std::size_t list) { return !room_[list].decrement_is_negative(); }

  // Where there was room.
  HEAPLAB_FAST_PATH void push(std::size_t list, void* block) {
    next_of(block) = first_[list];
    std::atomic_signal_fence(std::memory_order_release);
    first_[list] = block;
  }

  // --- everything else ---

  // The list of the class from which malloc takes.
  unsigned own_list(unsigned class_index) const { return numbers::of(class_index, owner_); }
  unsigned owner() const { return owner_; }
  // `number`: that of the thread, or of its home. The list that was the thread's own still takes blocks
  // without a cut, so that cut_all must look there.
  void set_owner(std::uint32_t number) {
    some_wait_ |= owner_ != number % numbers::owners;
    owner_ = narrow<std::uint8_t>(number % numbers::owners);
  }

  // A block for which a cut has made room.
  void push_new(unsigned list, void* block) {
    room_[list].decrement();
    push(list, block);
  }

  // After has_room() of a list that takes no blocks: list 0, or any list of a thread that has no buffer.
  void refuse(unsigned list) { room_[list].set(0); }

  // Precondition: the list is empty. It gets `count` > 0 linked blocks, the first of which is popped next,
  // and then takes `limit` further ones.
  void fill(unsigned class_index, void* first, std::uint32_t count) {
    const unsigned list = own_list(class_index);
    capacity_[list].store(count - 1 + limit_[class_index], std::memory_order_relaxed);
    room_[list].set(limit_[class_index] - 1);
    is_used_[class_index] = true;
    first_[list] = first;
  }

  // Takes all blocks out of the list but for the newest: as many as half of the limit where the thread has
  // allocated from the list since the last cut, else none. Returns the first of what was taken.
  void* cut(unsigned list) {
    const unsigned class_index = numbers::class_of[list];
    if (list != own_list(class_index)) return cut_waiting(list);
    const bool was_used = std::exchange(is_used_[class_index], false);
    return take_out(list, limit_[class_index], was_used ? limit_[class_index] / 2U : 0U);
  }

  // Calls take(class, first of its blocks) for every list that has blocks, and leaves the lists empty.
  template <class Take>
  void cut_all(Take&& take) {
    for (unsigned index = 0; index < classes::count; ++index) {
      is_used_[index] = false;
      take(index, take_out(own_list(index), limit_[index], 0));
    }
    if (!std::exchange(some_wait_, false)) return;
    for (unsigned list = 1; list < lists; ++list)
      // No room is left: so the next block freed into the list leads to cut_waiting, which notes it.
      if (list != own_list(numbers::class_of[list])) take(numbers::class_of[list], take_out(list, 0, 0));
  }

  template <class Visit>
  void for_each(unsigned class_index, Visit&& visit) const {
    numbers::for_each_of(class_index, [&](unsigned list) {
      for (void* block = first_[list]; block != nullptr; block = next_of(block)) visit(block);
    });
  }

  // A list that a double free has closed to a ring is no longer than its capacity.
  bool holds(unsigned class_index, const void* wanted) const {
    bool is_held = false;
    numbers::for_each_of(class_index, [&](unsigned list) {
      std::uint32_t left = capacity_[list].load(std::memory_order_relaxed);
      for (void* block = first_[list]; block != nullptr && left > 0; block = next_of(block), --left)
        is_held |= block == wanted;
    });
    return is_held;
  }

  // How many blocks of the class are listed: a number of a moment ago. Called by any thread.
  std::uint32_t count(unsigned class_index) const {
    std::uint32_t sum = 0;
    numbers::for_each_of(class_index, [&](unsigned list) {
      const std::int32_t room = room_[list].read(std::memory_order_relaxed);
      const std::uint32_t capacity = capacity_[list].load(std::memory_order_relaxed);
      sum += narrow<std::uint32_t>(std::max(narrow<std::int32_t>(capacity) - std::max(room, 0), 0));
    });
    return sum;
  }

  // A value that changes where the thread uses the class.
  std::uint32_t trace_of(unsigned class_index) const {
    const unsigned list = own_list(class_index);
    const auto first = reinterpret_cast<std::uintptr_t>(first_[list]) >> step_shift;
    return low_bits<std::uint32_t>(first) ^ low_bits<std::uint32_t>(room_[list].read_own());
  }

  // --- limits ---
  //
  // A listed block keeps its span from becoming empty. A program that replaces blocks loses nothing by that,
  // and its lists are filled from reusable spans: a reusable span raises the limit to the most. A program
  // that allocates much and later frees all, in whatever order, would keep a span for each listed block; its
  // lists are filled from free spans: each lowers the limit by a step.
  //
  // Threads that share their spans share the limits: all of their lists together are no longer than those of
  // twice as many threads as have spans of their own. Where these are thousands, who uses a class again takes
  // some small blocks at a time. What threads take of smaller blocks than a line is whole lines.

  std::uint32_t limit_of(unsigned class_index) const { return limit_[class_index]; }
  void share_limits(std::size_t own, std::size_t threads) {
    for (unsigned index = 0; index < classes::count; ++index) {
      const size_class& kind = classes::table[index];
      const std::size_t fewest = kind.block_bytes % cache_line_bytes == 0 ? 1 : blocks_of_lines;
      const std::size_t part = std::max(kind.most_cached * own / threads, fewest);
      limit_[index] = narrow<std::uint8_t>(std::min<std::size_t>(part, kind.most_cached));
    }
  }

  void raise_shared_limit(unsigned class_index) {
    const std::size_t some = std::min(some_bytes / classes::table[class_index].block_bytes, some_blocks);
    const std::size_t now = limit_[class_index];
    limit_[class_index] = narrow<std::uint8_t>(std::max(now, std::min(2 * now, some)));
  }

  void raise_limit(unsigned class_index) { limit_[class_index] = classes::table[class_index].most_cached; }
  void lower_limit(unsigned class_index) {
    const int lower = limit_[class_index] - narrow<int>(Traits::config.cache_step);
    const std::uint8_t fewest = classes::table[class_index].fewest_cached;
    limit_[class_index] = narrow<std::uint8_t>(std::max<int>(lower, fewest));
  }

private:
  // Blocks are multiples of 16 bytes: of every size four blocks are whole lines.
  static constexpr std::size_t blocks_of_lines = cache_line_bytes / class_step;
  static constexpr std::size_t some_blocks = 8, some_bytes = 4 * kib;

  static void*& next_of(void* block) { return *static_cast<void**>(block); }

  HEAPLAB_OUT_OF_LINE void* cut_waiting(unsigned list) {
    some_wait_ = true;
    return take_out(list, Traits::config.lines_kept, 0);
  }

  void* take_out(unsigned list, std::uint32_t limit, unsigned keep) {
    capacity_[list].store(limit, std::memory_order_relaxed);
    room_[list].set(narrow<std::int32_t>(limit - keep));
    void** link = &first_[list];
    for (; keep > 0 && *link != nullptr; --keep) link = &next_of(*link);
    return std::exchange(*link, nullptr);
  }

  // List 0 stands for no list: it has no blocks and no room.
  static constexpr unsigned lists = numbers::count;
  void* first_[lists] = {};
  // So many frees until the list is full.
  concurrent::owned_counter<typename Traits::sync> room_[lists];
  // So many blocks a full list has.
  typename Traits::template atomic<std::uint32_t> capacity_[lists] = {};
  std::uint8_t limit_[classes::count] = {};
  bool is_used_[classes::count] = {};
  std::uint8_t owner_ = 0;
  // Whether lists may have blocks that other owners allocated.
  bool some_wait_ = false;
};

}  // namespace heaplab::scalloc
