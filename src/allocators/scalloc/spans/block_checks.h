// What scalloc-hardened does when a block of a span changes hands: live_map.h says whether a block is live,
// block_secrets.h whether the program wrote past its end or into it after freeing it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "allocators/scalloc/spans/span.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/fatal.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// Ends the process because of a free, realloc or malloc_usable_size of an address in a span.
template <class Traits>
[[noreturn]] HEAPLAB_SLOW_PATH void refuse_address(const span<Traits>& span, const void* block) {
  if (!span.load_word(std::memory_order_acquire).allows(span_event::push)) fatal("not a live block", block);
  const std::uint32_t bytes = span.secrets.block_bytes();
  const std::size_t index = span.offset_of(block) / bytes;
  if (index >= span.kind().blocks) fatal("not a live block", block);
  if (span.offset_of(block) % bytes != 0) fatal("not a live block, an address inside a block", block, bytes);
  fatal("not a live block, freed already or never allocated", block, bytes);
}

// Called by the owner of a hot span with a block it has just taken from the local list, and counted. A child
// of fork then finds no live block that is listed, or not counted: the fence here and the one in
// check_canaries keep that order.
//
// The program gets zeros, and no link, from which it could learn the key.
template <class Traits>
HEAPLAB_FAST_PATH void mark_live(span<Traits>& span, void* block) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (!span.live.begin(span.secrets.granule_of(block))) [[unlikely]]
    fatal("a live block was about to be handed out again", block, span.secrets.block_bytes());
  std::memset(block, 0, sizeof(void*));
}

// Calls visit(place, bytes) for places that cover [begin, begin + size), where `bytes` is a constant after
// inlining: straight code and no call. Precondition: 8 <= size <= 128.
template <class Char, class Visit>
HEAPLAB_FAST_PATH void cover(Char* begin, std::size_t size, Visit&& visit) {
  const auto both_ends = [&](auto bytes) __attribute__((always_inline)) {
    visit(begin, bytes);
    visit(begin + size - bytes, bytes);
  };
  if (size >= 64) return both_ends(std::integral_constant<std::size_t, 64>{});
  if (size >= 32) return both_ends(std::integral_constant<std::size_t, 32>{});
  if (size >= 16) return both_ends(std::integral_constant<std::size_t, 16>{});
  both_ends(std::integral_constant<std::size_t, 8>{});
}

// Whether cover() may be called for the usable bytes of a span's blocks.
template <class Traits>
HEAPLAB_FAST_PATH bool has_small_blocks(const span<Traits>& span) {
  return span.secrets.block_bytes() <= 128;
}

// Makes whole pages zero. `were_untouched`: they had no memory when the program got them. Then to look at one
// that the program left untouched costs a page fault. So if the page in the middle holds nothing, all of them
// go back to the system unseen.
template <class Platform>
void wipe_pages(char* begin, std::size_t bytes, bool were_untouched) {
  const std::size_t page = os_pages::page_bytes();
  const auto holds_nothing = [page](const char* start) { return os_pages::is_zero(start, page); };
  if (were_untouched && holds_nothing(begin + align_down(bytes / 2, page)) && Platform::purge(begin, bytes))
    return;
  for (char* const end = begin + bytes; begin < end; begin += page)
    if (!holds_nothing(begin)) std::memset(begin, 0, page);
}

// Freed blocks below this size are overwritten with zeros. Of larger ones the pages go back to the system
// where few seem to be written, and only the pages that hold data are overwritten elsewhere: a smaller limit
// means fewer page faults and more system calls. Measured with acdc (docs/decisions/0022).
inline constexpr std::size_t zeroed_block_bytes = 32 * kib;

template <class Traits>
void wipe(const span<Traits>& span, void* block, bool was_untouched) {
  const std::size_t usable = span.secrets.usable_bytes(), page = os_pages::page_bytes();
  if (usable < std::max(zeroed_block_bytes, 4 * page)) [[likely]] {
    std::memset(block, 0, usable);
    return;
  }
  // The first page is likely to be needed again, the last one has the canary.
  const std::size_t begin = span.offset_of(block), end = begin + usable;
  const std::size_t second_page = align_up(begin + page, page), last_page = align_down(end, page);
  std::memset(block, 0, second_page - begin);
  wipe_pages<typename Traits::platform>(span.base + second_page, last_page - second_page, was_untouched);
  std::memset(span.base + last_page, 0, end - last_page);
}

// Looks at the canaries before and behind the block. The block before it has had a canary for as long as the
// block itself: canaries are written in the order of addresses, or for a whole batch.
template <class Traits>
HEAPLAB_FAST_PATH void check_canaries(const span<Traits>& span, const void* block) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (!span.secrets.has_canary(block)) [[unlikely]]
    fatal("written past the end of a block", block, span.secrets.block_bytes());
  if (block != span.base &&
      !span.secrets.has_canary(static_cast<const char*>(block) - span.secrets.block_bytes())) [[unlikely]]
    fatal("written before the beginning of a block", block, span.secrets.block_bytes());
}

// Called for blocks in quarantine, which were overwritten with zeros. A look at each of them.
inline void check_first_word(const void* block) {
  std::uint64_t word;
  std::memcpy(&word, block, sizeof word);
  if (word != 0) [[unlikely]]
    fatal("a freed block was written to", block);
}

// The union (or) of the words at `place`: one instruction for each, and no loop.
template <std::size_t... Index>
HEAPLAB_FAST_PATH std::uint64_t bits_of(const char* place, std::index_sequence<Index...>) {
  const auto word_at = [place](std::size_t index) {
    std::uint64_t word;
    std::memcpy(&word, place + index * sizeof word, sizeof word);
    return word;
  };
  return (word_at(Index) | ...);
}

[[noreturn]] HEAPLAB_SLOW_PATH inline void refuse_write(const void* block, std::size_t bytes) {
  fatal("a freed block was written to", block, bytes);
}

// Out of line, for the registers that the comparison needs.
template <class Traits>
[[gnu::noinline]] void check_all_untouched(const span<Traits>& span, const void* block) {
  if (!os_pages::is_zero(static_cast<const char*>(block), span.secrets.usable_bytes())) [[unlikely]]
    refuse_write(block, span.secrets.block_bytes());
}

// A look at all bytes of the block that leaves.
template <class Traits>
HEAPLAB_FAST_PATH void check_untouched(const span<Traits>& span, const void* block) {
  if (!has_small_blocks(span)) [[unlikely]]
    return check_all_untouched(span, block);
  std::uint64_t seen = 0;
  cover(static_cast<const char*>(block), span.secrets.usable_bytes(), [&seen](const char* place, auto bytes) {
    seen |= bits_of(place, std::make_index_sequence<bytes / sizeof(std::uint64_t)>());
  });
  if (seen != 0) [[unlikely]]
    refuse_write(block, span.secrets.block_bytes());
}

// The program gives a block of a fine span back. Called by the owner. Precondition: the address is a multiple
// of 16. The caller overwrites the block.
template <class Traits>
HEAPLAB_FAST_PATH void withdraw_own(span<Traits>& span, void* block) {
  if (!span.live.end_own(span.live.fine_granule_of(block))) [[unlikely]]
    refuse_address(span, block);
  check_canaries(span, block);
}

// The same, called by any thread.
template <class Traits>
HEAPLAB_FAST_PATH void withdraw_fine(span<Traits>& span, void* block) {
  if (!span.live.end(span.live.fine_granule_of(block))) [[unlikely]]
    refuse_address(span, block);
  check_canaries(span, block);
}

// As wipe(), without a call: the fast path of free then has no registers to save.
template <class Traits>
HEAPLAB_FAST_PATH void wipe_small(const span<Traits>& span, void* block) {
  cover(static_cast<char*>(block), span.secrets.usable_bytes(),
        [](char* place, std::size_t bytes) { std::memset(place, 0, bytes); });
}

// As wipe(), for blocks of fine spans.
template <class Traits>
HEAPLAB_FAST_PATH void wipe_fine(const span<Traits>& span, void* block) {
  if (has_small_blocks(span)) return wipe_small(span, block);
  std::memset(block, 0, span.secrets.usable_bytes());
}

// Whether the live block that begins in the granule of the address begins at another address of the granule.
// Small blocks need no division: each granule of their spans is as small as the step of their sizes.
template <class Traits>
bool is_inside_block(const span<Traits>& span, const void* block) {
  const std::uint32_t offset = span.offset_of(block), bytes = span.secrets.block_bytes();
  return (bytes <= Traits::config.fine_block_limit ? offset % class_step : offset % bytes) != 0;
}

// fatal() where no live block begins.
template <class Traits>
void require_live(const span<Traits>& span, const void* block) {
  if (!span.live.holds(span.secrets.granule_of(block)) || is_inside_block(span, block))
    refuse_address(span, block);
}

// The program gives a block back. Called by any thread, with any address in a span.
template <class Traits>
void withdraw(span<Traits>& span, void* block) {
  const std::size_t granule = span.secrets.granule_of(block);
  const bool was_untouched = span.live.was_untouched(granule);
  // live.end() marks the block as free before the address is known to be the block's beginning. That does no
  // harm: an address inside a block ends the process.
  if (!span.live.end(granule) || is_inside_block(span, block)) refuse_address(span, block);
  check_canaries(span, block);
  wipe(span, block, was_untouched);
}

// realloc to a smaller size stays in place unless it would use at most 1/N of the block. A larger N copies
// less and leaves more of a block unused.
inline constexpr std::size_t shrink_divisor = 2;

// Whether a block with `usable` bytes may have been allocated for `bytes`, the size that a sized delete
// passes. `span` is the block's, null for a large block.
template <class Traits>
bool may_be_size_of(const span<Traits>* span, std::size_t usable, std::size_t bytes, std::size_t alignment,
                    bool was_resized) {
  using classes = typename Traits::classes;
  constexpr const auto& config = Traits::config;
  if (bytes > usable || usable == 0) return bytes == usable;
  // realloc has left more of the block unused, at most.
  if (was_resized && bytes > usable / shrink_divisor) return true;
  // A large block, rounded up to pages, or one that serves where no span was left.
  if (span == nullptr)
    return bytes <= config.span_request_limit() || usable - bytes < os_pages::huge_page_bytes;
  const unsigned index = classes::index_of_aligned(alignment, bytes + config.canary_bytes);
  return index < classes::count && classes::table[index].block_bytes == span->secrets.block_bytes();
}

}  // namespace heaplab::scalloc
