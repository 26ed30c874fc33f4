#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/size_classes.h"
#include "allocators/scalloc/span_state.h"
#include "base/cache_line.h"
#include "base/fatal.h"
#include "concurrent/checked_deque.h"
#include "concurrent/owned_counter.h"

namespace heaplab::scalloc {

template <class Traits>
struct lab;

// A free block's link to the next one of its list.
inline void*& next_block(void* block) {
  return *static_cast<void**>(block);
}

// The record of one span. Records lie in one dense array apart from the spans, indexed by span number: free()
// finds its way without touching the span, and neighbouring records do not meet in one cache set as headers
// at multiples of 2 MiB would.
//
// The four lines are for four kinds of access. Every free reads the first, which seldom changes, so that all
// processors keep it. What the owner's malloc and free write is in the second, what remote frees write in the
// third: a remote free takes nothing away from an owner that allocates from the same span. The fourth is for
// moves between lists.
template <class Traits>
struct alignas(4 * cache_line_bytes) span {
  template <class T>
  using atomic = typename Traits::template atomic<T>;
  using sync = typename Traits::sync;

  // --- the line that every free reads ---

  // The identity of the owner's thread (lab.h): what every free compares with its own. The `attention` bit,
  // set by others, makes the owner's frees look at the remote list. writers: under the lock of the present
  // owner's lists, or who alone has the free span / readers: any free.
  atomic<std::uintptr_t> owner_tag{0};
  // As owner_tag, for everybody but the fast path.
  atomic<lab<Traits>*> owner_lab{nullptr};
  // Where the span begins. Written once, before the span is first taken.
  char* base = nullptr;
  // Index of the size class. Constant during a tenure; a late reader of an older one discards what it read.
  atomic<std::uint32_t> class_index{0};

  // --- the owner's line ---

  // Blocks the owner may hand out, linked through their first word. Owner only.
  alignas(cache_line_bytes) void* local_list = nullptr;
  // used = countdown + countdown_floor is the number of blocks handed out and not yet back in local_list:
  // live ones and those in the remote list. The owner's free counts down and takes the slow path at zero: the
  // floor is the number of used blocks at which an event may be due. writer: the owner / readers: whoever
  // asks whether the span is empty.
  concurrent::owned_counter<sync> countdown;
  // While the span is not hot the floor is only ever lowered, `countdown` being raised first; so who reads
  // the floor first never finds fewer used blocks than there are.
  atomic<std::int32_t> countdown_floor{0};
  // First block never handed out in this tenure: from there on the span is fresh. Owner only.
  std::uint32_t fresh = 0;
  // Bytes from the span's start that may be backed by memory. Owner, or who alone has the free span.
  atomic<std::uint32_t> resident{0};

  // --- the remote frees' line ---

  alignas(cache_line_bytes) atomic<std::uint64_t> word{0};

  // --- the lists' line ---

  // Under the lock of the owner's lists.
  alignas(cache_line_bytes) concurrent::deque_hook<sync, span> hook;
  // Link of the span-pool's stacks.
  atomic<std::uint32_t> pool_next{0};

  // --- owner ---

  static constexpr std::uintptr_t attention = 1;

  lab<Traits>* owner(std::memory_order order) const { return owner_lab.load(order); }
  // release will do wherever a lock is let go or the word is moved next. seq_cst: attention is taken back,
  // and the look at the word that follows must not come before.
  void set_owner(lab<Traits>* owner, std::uintptr_t flag = 0,
                 std::memory_order order = std::memory_order_release) {
    owner_lab.store(owner, std::memory_order_release);
    owner_tag.store(owner == nullptr ? 0 : owner->identity | flag, order);
  }
  // By a thread that frees the first block of a remote list.
  void ask_for_attention() { owner_tag.fetch_or(attention, std::memory_order_seq_cst); }

  // --- counts ---

  std::int32_t used() const {
    const std::int32_t floor = countdown_floor.load(std::memory_order_seq_cst);
    return floor + countdown.read(std::memory_order_seq_cst);
  }

  // By the owner of a hot span.
  void set_used(std::int32_t used, std::int32_t floor) {
    countdown_floor.store(floor, std::memory_order_relaxed);
    countdown.set(used - floor);
  }

  // By the owner of any span; floor is not above the present one.
  void lower_floor(std::int32_t floor) {
    const std::int32_t difference = countdown_floor.load(std::memory_order_relaxed) - floor;
    countdown.set(countdown.read_own() + difference);
    countdown_floor.store(floor, std::memory_order_seq_cst);
  }

  // --- memory ---

  // relaxed: an account, for its one writer and for statistics.
  std::uint32_t resident_bytes() const { return resident.load(std::memory_order_relaxed); }
  void set_resident_bytes(std::uint32_t bytes) { resident.store(bytes, std::memory_order_relaxed); }

  // --- word ---

  span_word load_word(std::memory_order order) const { return span_word{word.load(order)}; }

  // On failure `seen` becomes what stands there now.
  bool try_move(span_word& seen, span_word next, std::memory_order success) {
    std::uint64_t expected = seen.bits();
    if (word.compare_exchange_strong(expected, next.bits(), success, std::memory_order_acquire)) return true;
    seen = span_word{expected};
    return false;
  }

  // --- invariants ---

  // Nobody's: what the span-pool holds. (`owner_tag` may ask for attention: the wish of a thread that freed a
  // block and came late.) By the thread that alone has the span.
  bool is_free() const {
    return load_word(std::memory_order_relaxed).state() == span_state::free &&
           owner(std::memory_order_relaxed) == nullptr && hook.in == nullptr;
  }

  // The hot span of `local` for a class. By the owner, without whom the span stays hot.
  bool is_hot_in(const lab<Traits>& local, unsigned index) const {
    return load_word(std::memory_order_relaxed).state() == span_state::hot &&
           owner(std::memory_order_relaxed) == &local && hook.in == nullptr &&
           class_index.load(std::memory_order_relaxed) == index;
  }

  // Every block ever handed out is used or in the local list. By the owner of a hot span. Walks the list.
  bool counts_every_block() const {
    const size_class& kind = Traits::classes::table[class_index.load(std::memory_order_relaxed)];
    if (fresh > kind.blocks) return false;
    std::uint32_t listed = 0;
    for (void* block = local_list; block != nullptr; block = next_block(block), ++listed)
      if (listed == fresh || offset_of(block) % kind.block_bytes != 0 ||
          offset_of(block) >= fresh * kind.block_bytes)
        return false;
    return used() + static_cast<std::int32_t>(listed) == static_cast<std::int32_t>(fresh);
  }

  std::uint32_t offset_of(const void* block) const {
    return static_cast<std::uint32_t>(static_cast<const char*>(block) - base);
  }
};

// Floor of a hot span: nothing is ever due, and only one free too many is noticed.
inline constexpr std::int32_t hot_floor = -1;

}  // namespace heaplab::scalloc
