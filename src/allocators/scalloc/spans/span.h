#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "allocators/scalloc/hardened/block_secrets.h"
#include "allocators/scalloc/hardened/live_map.h"
#include "allocators/scalloc/policy/size_classes.h"
#include "allocators/scalloc/spans/span_state.h"
#include "base/cache_line.h"
#include "base/compiler.h"
#include "base/narrow.h"
#include "concurrent/checked_deque.h"
#include "concurrent/owned_counter.h"
#include "concurrent/relaxed_compare.h"

namespace heaplab::scalloc {

template <class Traits>
struct lab;

// Whether the pages of a span's holes are on their way to the system, and whether the span has become free
// meanwhile, so that the thread that gives them back returns the span.
enum class purge_state : std::uint8_t { none, under_way, under_way_and_free };

// The record of one span. Records lie in a dense array apart from the spans, indexed by span number. So
// free() finds the record without touching the span, and records do not compete for one cache set as headers
// at multiples of 2 MiB would.
//
// A record has four cache lines for four kinds of access:
//
//   1. Every free reads the first line, unless a list takes the block (page_map.h). The line seldom
//      changes, so that all processors keep a copy.
//   2. The owner's malloc and free write the second.
//   3. Remote frees write the third, and so take no line away from an owner that allocates from the span.
//   4. Moves between lists write the fourth.
//
// The secrets of a hardened span lie in the first line, its live map behind the fourth.
template <class Traits>
struct alignas(4 * cache_line_bytes) span {
  template <class T>
  using atomic = typename Traits::template atomic<T>;
  using sync = typename Traits::sync;
  static constexpr bool hardened = Traits::config.hardened;

  // --- the line that frees read ---

  // The address of the owner's buffer; the page map has a copy. The `attention` bit, set by other threads,
  // makes the owner's frees into the span look at the remote list. writers: the holder of the lock of the
  // present owner's lists, or the thread that took the free span / readers: any free.
  atomic<std::uintptr_t> owner_tag{0};
  // Where the span begins. Written once, before the span is first taken.
  char* base = nullptr;
  // Index of the size class. Constant during a tenure. A reader that is late by a tenure throws away what it
  // read when its compare-and-swap on the word fails.
  atomic<std::uint32_t> class_index{0};
  // Where the first block begins, in bytes from `base`. Constant during a tenure.
  std::uint32_t color = 0;
  // Constant during a tenure. Read by a thread that frees a live block, which a program hands over after the
  // tenure has begun.
  [[no_unique_address]] std::conditional_t<hardened, block_secrets, plain_links> secrets;

  // --- the owner's line ---

  // Blocks the owner may hand out, linked through their first word (secrets). writer: the owner / readers: a
  // sweep of holes, while the span is not hot.
  alignas(cache_line_bytes) void* local_list = nullptr;
  // used = countdown + countdown_floor is the number of blocks handed out and not back in local_list: live
  // blocks, those in the lists of threads, and those in the remote list. The owner's free counts down, and
  // takes the slow path at zero. The floor is the number of used blocks at which an event may be due. writer:
  // the owner / readers: threads that check whether the span is empty.
  concurrent::owned_counter<sync> countdown;
  // While the span is not hot the floor only falls, and `countdown` is raised before. So a thread that reads
  // the floor first never computes fewer used blocks than there are.
  atomic<std::int32_t> countdown_floor{0};
  // Number of the first block never handed out in this tenure; the blocks from there on are fresh. Owner
  // only.
  std::uint32_t fresh = 0;
  // Bytes from the span's start that may be backed by memory: blocks were handed out up to there, in this
  // tenure or earlier. All bytes beyond are zero. writer: the owner, or the thread that took the free span.
  atomic<std::uint32_t> resident{0};

  // --- the remote frees' line ---

  alignas(cache_line_bytes) atomic<std::uint64_t> word{0};

  // --- the lists' line ---

  // Guarded by the lock of the owner's lists.
  alignas(cache_line_bytes) concurrent::deque_hook<sync, span> hook;
  // Link of the span-pool's stacks.
  atomic<std::uint32_t> pool_next{0};
  // Bit p: the blocks that begin in page p are free, and in no list (holes.h). Owner only while the span
  // is hot; else guarded by the lock of the owner's lists.
  std::uint32_t holes = 0;
  // Such pages of a hot span, whose blocks may still count in the remote list: the owner moves them to
  // `holes` together with that list. Guarded by the lock of the owner's lists; a hint without the lock.
  atomic<std::uint32_t> hot_holes{0};
  // While the pages of holes go back to the system, the span is in the list `purging` of its owner. Guarded
  // by the lock of the owner's lists.
  purge_state purging = purge_state::none;
  // What the last sweep saw (hole_sweep.h). Used by the sweep alone.
  std::uint32_t last_seen = 0;

  [[no_unique_address]] part_if<hardened, live_map<Traits>> live;

  // --- owner ---

  static constexpr std::uintptr_t attention = 1;

  static std::uintptr_t tag_of(const lab<Traits>* owner) { return reinterpret_cast<std::uintptr_t>(owner); }

  lab<Traits>* owner(std::memory_order order) const {
    return reinterpret_cast<lab<Traits>*>(owner_tag.load(order) & ~attention);
  }
  // Two tags of one owner differ at most in the attention bit, the lowest; buffers are aligned to more than
  // that. relaxed: only a thread itself makes its buffer the owner of a span with live blocks, or ends that.
  HEAPLAB_FAST_PATH bool is_owned_by(const lab<Traits>& local) const {
    return (owner_tag.load(std::memory_order_relaxed) ^ tag_of(&local)) <= attention;
  }
  // Whether `local` owns the span and no other thread asks for attention.
  HEAPLAB_FAST_PATH bool is_quietly_owned_by(const lab<Traits>& local) const {
    return !concurrent::differs(owner_tag, tag_of(&local));
  }
  // release suffices where the caller then releases a lock or moves the word. seq_cst: the store clears the
  // attention bit, and the load of the word that follows must not come before the store.
  void set_owner(lab<Traits>* owner, std::uintptr_t flag = 0,
                 std::memory_order order = std::memory_order_release) {
    owner_tag.store(tag_of(owner) | flag, order);
  }
  // Called by a thread whose free makes the remote list non-empty.
  void ask_for_attention() { owner_tag.fetch_or(attention, std::memory_order_seq_cst); }

  // The class that uses the span, or used it last.
  const size_class& kind() const {
    return Traits::classes::table[class_index.load(std::memory_order_relaxed)];
  }

  // --- counts ---

  std::int32_t used() const {
    const std::int32_t floor = countdown_floor.load(std::memory_order_seq_cst);
    return floor + countdown.read(std::memory_order_seq_cst);
  }
  // For the word as it was before.
  std::int32_t live_blocks(span_word seen) const {
    return used() - narrow<std::int32_t>(seen.remote_count());
  }

  // Called by the owner of a hot span. A fork may copy the owner between the two stores: their order lets the
  // child find more used blocks than there are, and never fewer. So does another thread that still has the
  // word of an earlier state. release: a thread that reads the new floor sees the raised countdown, and that
  // the word has moved, which a store-exclusive of AArch64 alone does not promise for what follows it.
  void set_used(std::int32_t used, std::int32_t floor) {
    const bool falls = floor < countdown_floor.load(std::memory_order_relaxed);
    if (falls) countdown.set(used - floor);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    countdown_floor.store(floor, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!falls) countdown.set(used - floor);
  }

  // Called by the owner of a hot span: takes the local list, whose blocks, `count` of them, are used from
  // then on. What is in no list is used, or in a hole; hot holes may count either way, so that the blocks are
  // counted. A fork may copy the owner between the two stores: the child loses the blocks. In a child of fork
  // blocks of the list may have counted as used already.
  void* take_all(std::uint32_t& count) {
    void* const first = local_list;
    auto left = narrow<std::int32_t>(fresh);
    if ((holes | hot_holes.load(std::memory_order_relaxed)) != 0) [[unlikely]]
      left = used_beside_holes();
    left -= countdown_floor.load(std::memory_order_relaxed);
    local_list = nullptr;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    count = narrow<std::uint32_t>(std::max(left - countdown.read_own(), 1));
    countdown.set(left);
    return first;
  }

  // Called by the user of a shared span: takes at most `most` > 0 blocks of the local list, which has some. A
  // fork may copy the thread anywhere: the child loses these blocks.
  void* take(std::uint32_t most, std::uint32_t& count) {
    void* const first = local_list;
    void* last = first;
    for (count = 1; count < most && secrets.next_of(last) != nullptr; ++count) last = secrets.next_of(last);
    local_list = secrets.next_of(last);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    countdown.set(countdown.read_own() + narrow<std::int32_t>(count));
    secrets.link(last, nullptr);
    return first;
  }

  // What take_all counts, of a span that has holes.
  HEAPLAB_OUT_OF_LINE std::int32_t used_beside_holes() const {
    const size_class& kind = this->kind();
    if (hot_holes.load(std::memory_order_relaxed) == 0)
      return narrow<std::int32_t>(fresh - blocks_in_holes(holes, kind, color));
    std::int32_t now = used();
    for (void* block = local_list; block != nullptr; block = secrets.next_of(block)) ++now;
    return now;
  }

  // Called by the owner of any span. `floor` is at most the present floor.
  void lower_floor(std::int32_t floor) {
    const std::int32_t difference = countdown_floor.load(std::memory_order_relaxed) - floor;
    countdown.set(countdown.read_own() + difference);
    countdown_floor.store(floor, std::memory_order_seq_cst);
  }

  // Called by the holder of the lock of the owner's lists, before the span becomes hot.
  void make_holes_hot() {
    if (holes == 0) return;
    hot_holes.store(hot_holes.load(std::memory_order_relaxed) | holes, std::memory_order_relaxed);
    holes = 0;
  }

  // --- memory ---

  // relaxed: the number publishes nothing; its one writer and statistics read it.
  std::uint32_t resident_bytes() const { return resident.load(std::memory_order_relaxed); }
  void set_resident_bytes(std::uint32_t bytes) { resident.store(bytes, std::memory_order_relaxed); }

  // --- word ---

  span_word load_word(std::memory_order order) const { return span_word{word.load(order)}; }

  // On failure `seen` becomes the present word. While the program has one thread, that thread alone moves the
  // words of spans in use: the background purge thread takes free spans from the pool first, and of others
  // reads the word (hole_sweep.h). release publishes to a sweep what it reads of the span after that.
  bool try_move(span_word& seen, span_word next, std::memory_order success) {
    std::uint64_t expected = seen.bits();
    if (sync::is_alone() && word.load(std::memory_order_relaxed) == expected) {
      word.store(next.bits(), std::memory_order_release);
      return true;
    }
    if (word.compare_exchange_strong(expected, next.bits(), success, std::memory_order_acquire)) return true;
    seen = span_word{expected};
    return false;
  }

  // --- invariants ---

  // Whether the span is as the span-pool holds it: free, without owner, in no list. The attention bit of
  // owner_tag may be set, by a thread that freed a block and came late. Called by the only thread that can
  // reach the span.
  bool is_free() const {
    return load_word(std::memory_order_relaxed).state() == span_state::free &&
           owner(std::memory_order_relaxed) == nullptr && hook.in == nullptr;
  }

  // Whether this is the hot span of `local` for a class. Called by the owner: only the owner changes that.
  bool is_hot_in(const lab<Traits>& local, unsigned index) const {
    return load_word(std::memory_order_relaxed).state() == span_state::hot &&
           owner(std::memory_order_relaxed) == &local && hook.in == nullptr &&
           class_index.load(std::memory_order_relaxed) == index;
  }

  // Whether every block ever handed out is used, in the local list or in a hole. Called by the owner of a hot
  // span. Walks the list.
  bool counts_every_block() const {
    const size_class& kind = this->kind();
    if (fresh > kind.blocks) return false;
    std::uint32_t listed = 0;
    for (void* block = local_list; block != nullptr; block = secrets.next_of(block), ++listed)
      if (listed == fresh || !has_block_at(block, fresh)) return false;
    // Hot holes may count as used until the owner takes the remote list with which they were freed.
    const auto known = narrow<std::int32_t>(listed + blocks_in_holes(holes, kind, color));
    const auto hot =
        narrow<std::int32_t>(blocks_in_holes(hot_holes.load(std::memory_order_relaxed), kind, color));
    const std::int32_t missing = narrow<std::int32_t>(fresh) - known - used();
    return missing >= 0 && missing <= hot;
  }

  // Whether one of the first `count` blocks of the span begins there.
  bool has_block_at(const void* address, std::uint32_t count) const {
    const std::size_t offset = distance_to(address) - color, bytes = kind().block_bytes;
    return offset % bytes == 0 && offset < count * bytes;
  }

  char* block_at(std::uint32_t number, const size_class& kind) const {
    return base + color + std::size_t{number} * kind.block_bytes;
  }

  // Links `count` > 0 blocks that lie side by side into a list, and returns its first block.
  void* link_blocks(std::uint32_t number, std::uint32_t count, const size_class& kind) const {
    char* const first = block_at(number, kind);
    char* const last = first + std::size_t{count - 1} * kind.block_bytes;
    for (char* block = first; block < last; block += kind.block_bytes)
      secrets.link(block, block + kind.block_bytes);
    secrets.link(last, nullptr);
    return first;
  }

  // From the beginning of the span to any address; to one before it, more than any span has.
  std::size_t distance_to(const void* address) const {
    return static_cast<std::size_t>(static_cast<const char*>(address) - base);
  }

  // Precondition: the address lies in the span.
  std::uint32_t offset_of(const void* block) const { return narrow<std::uint32_t>(distance_to(block)); }
};

}  // namespace heaplab::scalloc
