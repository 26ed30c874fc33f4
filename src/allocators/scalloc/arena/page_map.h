// The owner and the size class of the blocks at every address of the arena, in one word: the place in the
// owner's buffer that names the hot span of the class, which takes the block back (cached_blocks.h). So free
// finds that span by one load, and eight spans share a cache line of the map, where each has a record of its
// own.
//
//   | words of fine spans ->  ...  <- words of coarse spans |
//
// A word is for as many bytes of the arena as a fine span has. Of a coarse span the words are set where a
// block begins. The map lies in the arena's reservation, and gets access rights as the zones grow. It is a
// copy of what the records of the spans say (frontend::give), for the frees of blocks that are cached: spans
// of classes whose blocks are not are not in the map, and heaps that cache none have no map.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/arena/opened_range.h"
#include "allocators/scalloc/arena/shrinking_reservation.h"
#include "allocators/scalloc/spans/span.h"
#include "base/bits.h"
#include "base/cache_line.h"
#include "base/compiler.h"
#include "base/os_pages.h"
#include "concurrent/relaxed_compare.h"

namespace heaplab::scalloc {

template <class Traits>
class page_map {
  static constexpr const config& settings = Traits::settings;
  static constexpr unsigned unit_shift = log2_floor(settings.fine_span_bytes);

public:
  static constexpr bool is_used = settings.most_cached > 0;
  // Null: nobody's.
  using hot_place = span<Traits>* const*;

  static constexpr std::uint32_t words_in_line = cache_line_bytes / sizeof(hot_place);

  // The size of the map of an arena.
  static std::size_t bytes_for(std::size_t arena_bytes) {
    return is_used ? align_up(words_for(arena_bytes), os_pages::largest_page_bytes) : 0;
  }

  // `start` is the beginning of bytes_for(arena_bytes) bytes without access rights.
  void open(char* start, std::size_t arena_bytes) {
    if constexpr (!is_used) return;
    const std::size_t bytes = bytes_for(arena_bytes);
    reserved_.set(start, bytes);
    unused_ = bytes - words_for(arena_bytes);
    words_ = reinterpret_cast<word*>(start + unused_);
    fine_.set(start, growth_direction::up);
    coarse_.set(start + bytes, growth_direction::down);
    steps_.store(arena_bytes >> step_shift, std::memory_order_relaxed);
    fine_.begin();
    coarse_.begin();
  }

  // Makes the words of the first `zone_bytes` of a zone usable, and at most as many again. False: the system
  // refuses. For the holder of the arena's lock, as is keep.
  bool cover(bool fine, std::size_t zone_bytes) {
    if constexpr (!is_used) return true;
    const std::size_t bytes = words_for(zone_bytes) + (fine ? unused_ : 0);
    const std::size_t most =
        std::min(align_up(2 * bytes, os_pages::page_bytes()), fine ? reserved_.first() : reserved_.last());
    return (fine ? fine_ : coarse_).ensure(bytes, most);
  }

  // Gives up the words but for those of the first `fine` and the last `coarse` bytes of the arena, and those
  // already usable. From now on only owners in the fine zone are found. Returns what is to be unmapped.
  shrinking_reservation::parts keep(std::size_t fine, std::size_t coarse) {
    // relaxed: no live block lies behind. A block in the coarse zone is freed without the map.
    steps_.store(fine >> step_shift, std::memory_order_relaxed);
    const auto kept = [](std::size_t wanted, std::size_t opened) {
      return std::max(align_up(wanted, os_pages::page_bytes()), opened);
    };
    return reserved_.keep(kept(unused_ + words_for(fine), fine_.opened()),
                          kept(words_for(coarse), coarse_.opened()));
  }

  // What is to be unmapped when the arena closes.
  shrinking_reservation::parts all() const { return reserved_.all(); }

  // What is known of the block at `step`, counted from the beginning of the arena. relaxed: a thread asks
  // whether the place is its own. Only the thread itself writes its places over a span with live blocks, or
  // another's over them. A sweep may write null over them (span_life::drain_if_sparse): who misses that
  // caches one block more.
  HEAPLAB_FAST_PATH hot_place find(std::size_t step) const {
    if (!concurrent::exceeds(steps_, step)) [[unlikely]]
      return nullptr;
    return word_at(step).load(std::memory_order_relaxed);
  }

  // Beyond what the map tells about: false.
  bool names_nobody(std::size_t step) const {
    return concurrent::exceeds(steps_, step) && word_at(step).load(std::memory_order_relaxed) == nullptr;
  }

  // For a span of the class, whose first block begins at `step`.
  void set(std::size_t step, const size_class& kind, hot_place place) {
    if (kind.most_cached == 0) return;
    for (std::uint32_t left = kind.fine ? 1 : kind.blocks; left > 0; --left) {
      word_at(step).store(place, std::memory_order_relaxed);
      step += kind.block_bytes >> step_shift;
    }
  }

private:
  using word = typename Traits::template atomic<hot_place>;

  HEAPLAB_FAST_PATH word& word_at(std::size_t step) const {
    return words_[step >> (unit_shift - step_shift)];
  }

  static std::size_t words_for(std::size_t arena_bytes) { return (arena_bytes >> unit_shift) * sizeof(word); }

  // Every free reads these two. `steps_` changes once the arena is open only where the arena shrinks.
  word* words_ = nullptr;
  // How many steps of 16 bytes from the beginning of the arena the map tells about.
  typename Traits::template atomic<std::size_t> steps_{0};

  // Bytes before the first word.
  std::size_t unused_ = 0;
  shrinking_reservation reserved_;
  opened_range<Traits> fine_, coarse_;
};

}  // namespace heaplab::scalloc
