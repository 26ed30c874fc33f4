// Which list of a thread takes the free blocks of a span (free_lists.h): a byte for every 16 KiB of the
// arena. So free finds the list by one load, from a map of which one cache line tells of 64 spans; of their
// records each is on a line of its own.
//
//   | bytes of fine spans ->  ...  <- bytes of coarse spans |
//
// An entry is for as many bytes of the arena as a fine span has. Of a coarse span the entries are set where a
// block begins. The map lies in the arena's reservation, and gets access rights as the zones grow. An entry
// is 0 where no list takes the blocks: of spans that are free, drained (span_life.h), or of a class without
// lists. Heaps without lists have no map.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/arena/shrinking_reservation.h"
#include "allocators/scalloc/policy/size_classes.h"
#include "base/bits.h"
#include "base/blocked_signals.h"
#include "base/cache_line.h"
#include "base/compiler.h"
#include "base/os_pages.h"
#include "concurrent/futex_lock.h"
#include "concurrent/relaxed_compare.h"

namespace heaplab::scalloc {

template <class Traits>
class page_map {
  static constexpr const scalloc::config& config = Traits::config;
  static constexpr unsigned unit_shift = log2_floor(config.fine_span_bytes);

public:
  static constexpr bool is_used = config.most_cached > 0;
  // list_numbers.h; 0: none.
  using list_number = std::uint8_t;

  static constexpr std::uint32_t entries_in_line = cache_line_bytes / sizeof(list_number);

  static std::size_t bytes_for(std::size_t arena_bytes) {
    return is_used ? align_up(bytes_of(arena_bytes), os_pages::largest_page_bytes) : 0;
  }

  // `start` is the beginning of bytes_for(arena_bytes) bytes without access rights.
  void open(char* start, std::size_t arena_bytes) {
    if constexpr (!is_used) return;
    const std::size_t bytes = bytes_for(arena_bytes);
    reserved_.set(start, bytes);
    unused_ = bytes - bytes_of(arena_bytes);
    entries_ = reinterpret_cast<entry*>(start + unused_);
    fine_.set(start, growth_direction::up);
    coarse_.set(start + bytes, growth_direction::down);
    steps_.store(config.core_caches ? 0 : arena_bytes >> step_shift, std::memory_order_relaxed);
    covered_.store(arena_bytes >> step_shift, std::memory_order_relaxed);
    fine_.begin();
    coarse_.begin();
  }

  // Makes the entries of the first `zone_bytes` of a zone usable, and at most as many again. False: the
  // system refuses. For the holder of the arena's lock, as is keep.
  bool cover(bool fine, std::size_t zone_bytes) {
    if constexpr (!is_used) return true;
    const std::size_t bytes = bytes_of(zone_bytes) + (fine ? unused_ : 0);
    const std::size_t most =
        std::min(align_up(2 * bytes, os_pages::page_bytes()), fine ? reserved_.first() : reserved_.last());
    return (fine ? fine_ : coarse_).ensure(bytes, most);
  }

  // Gives up the entries but for those of the first `fine` and the last `coarse` bytes of the arena, and
  // those already usable. From now on only lists of the fine zone are found. Returns what is to be unmapped.
  shrinking_reservation::parts keep(std::size_t fine, std::size_t coarse) {
    // relaxed: no live block lies behind. A block in the coarse zone is freed without the map.
    covered_.store(fine >> step_shift, std::memory_order_relaxed);
    if constexpr (config.core_caches)
      serve_fast_path([this] { return steps_.load(std::memory_order_relaxed) != 0; });
    else
      steps_.store(fine >> step_shift, std::memory_order_relaxed);
    const auto kept = [](std::size_t wanted, std::size_t opened) {
      return std::max(align_up(wanted, os_pages::page_bytes()), opened);
    };
    return reserved_.keep(kept(unused_ + bytes_of(fine), fine_.opened()),
                          kept(bytes_of(coarse), coarse_.opened()));
  }

  // What is to be unmapped when the arena closes.
  shrinking_reservation::parts all() const { return reserved_.all(); }

  // Whether the fast path finds the block at `step`, counted from the beginning of the arena. From the
  // beginning, unless the heap has caches by CPU: then it finds blocks while the last `serves` said so.
  HEAPLAB_FAST_PATH bool serves(std::size_t step) const {
    constexpr auto order = config.core_caches ? std::memory_order_acquire : std::memory_order_relaxed;
    return concurrent::exceeds<order>(steps_, step);
  }

  // Calls serves() under a lock that also handlers of signals may want (vfork).
  template <class Serves>
  void serve_fast_path(Serves&& serves) {
    const blocked_signals blocked(blocked_signals::from_elsewhere);
    const concurrent::lock_holder hold(serving_lock_);
    const std::size_t covered = covered_.load(std::memory_order_relaxed);
    steps_.store(serves() ? covered : 0, std::memory_order_release);
  }

  // Whether the map tells about the block at `step`.
  bool covers(std::size_t step) const { return concurrent::exceeds(covered_, step); }

  void after_fork_in_child() { serving_lock_.forget_holder(); }

  // Precondition: serves(step) or covers(step). relaxed: the entry of a live block is set before the block is
  // handed out, and changes to 0 (span_life::drain_if_sparse) or to another list of its class at most
  // (span_life::enlist): who misses that lists one block more, or in another list.
  HEAPLAB_FAST_PATH list_number at(std::size_t step) const {
    return entry_at(step).load(std::memory_order_relaxed);
  }

  // For a span of the class, whose first block begins at `step`.
  void set(std::size_t step, const size_class& kind, list_number list) {
    if (kind.most_cached == 0) return;
    for (std::uint32_t left = kind.fine ? 1 : kind.blocks; left > 0; --left) {
      entry_at(step).store(list, std::memory_order_relaxed);
      step += kind.block_bytes >> step_shift;
    }
  }

  // The mark of free blocks: programs do not know this address, and so do not store it in their blocks.
  HEAPLAB_FAST_PATH const void* address() const { return entries_; }

private:
  using entry = typename Traits::template atomic<list_number>;

  HEAPLAB_FAST_PATH entry& entry_at(std::size_t step) const {
    return entries_[step >> (unit_shift - step_shift)];
  }

  static std::size_t bytes_of(std::size_t arena_bytes) { return (arena_bytes >> unit_shift) * sizeof(entry); }

  // Every free reads these two. `steps_` changes once the arena is open only where the arena shrinks, or the
  // fast path is shut.
  entry* entries_ = nullptr;
  // How many steps of 16 bytes from the beginning of the arena the map tells the fast path about; and others.
  typename Traits::template atomic<std::size_t> steps_{0}, covered_{0};

  concurrent::futex_lock<typename Traits::sync> serving_lock_;
  // Bytes before the first entry.
  std::size_t unused_ = 0;
  shrinking_reservation reserved_;
  opened_range<Traits> fine_, coarse_;
};

}  // namespace heaplab::scalloc
