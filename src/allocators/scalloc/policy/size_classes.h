// Size classes, computed at compile time from the config.
//
// Classes are multiples of 16 up to 256 bytes and `classes_per_doubling` equal steps to each further power of
// two, up to span_block_limit. Blocks fill a span from its aligned beginning, so that blocks whose size is a
// multiple of a power of two are aligned to that power: aligned allocation is a choice of class.
//
// Blocks of a few KiB and more would all begin in the same few sets of a cache. Where a span has room behind
// its blocks, the first block therefore begins at one of several places, the span's color (Bonwick, The slab
// allocator, USENIX 1994, section 4.3). Classes of powers of two have one color and serve aligned requests.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/policy/config.h"
#include "base/bits.h"
#include "base/narrow.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

struct size_class {
  std::uint32_t block_bytes = 0;
  std::uint32_t blocks = 0;           // in a span
  std::uint32_t real_span_bytes = 0;  // the part of a span's address space that blocks may touch
  std::uint16_t pool_slot = 0;        // classes of one zone and one real span size share a slot
  std::uint16_t colors = 1;           // places, color_step apart, where the first block may begin
  bool fine = false;
  // The bounds of the limit of cached blocks (free_lists.h); both 0: the class has no list.
  std::uint8_t most_cached = 0, fewest_cached = 0;
  std::uint16_t fresh_batch = 0;  // blocks that are linked at once
  // offset / block_bytes == (offset * reciprocal) >> 44 for every offset in a real span. The reciprocal is
  // (2^44 + e) / block_bytes with 0 < e <= block_bytes, so that the product is too large by offset * e /
  // block_bytes / 2^44 <= offset / 2^44. That is less than 1 / block_bytes, the least distance of a quotient
  // from the next whole number, while offset * block_bytes < 2^44; both are below 2^22.
  std::uint64_t reciprocal = 0;
};

inline constexpr std::size_t class_step = 16;
// At least a cache line, and the largest alignment that all colors keep.
inline constexpr std::size_t color_step = 64;
inline constexpr unsigned reciprocal_shift = 44;

template <const config& Config>
class size_classes {
  static constexpr std::size_t linear_limit = Config.linear_class_limit;
  // Where realloc grows a block to such a size, the new block is larger than asked for, so that the next
  // growth copies nothing: from `grows_ahead_from` on by growth_percent, from `copied_dear` on by
  // growth_ahead_percent. Smaller blocks are copied fast.
  static constexpr std::size_t grows_ahead_from = 256, copied_dear = 32 * kib;
  // Bytes of the cached blocks of a class; of large ones (large_cached).
  static constexpr std::size_t cached_bytes = 64 * kib, large_cached_bytes = 256 * kib;
  static constexpr unsigned linear_count = linear_limit / class_step;
  static constexpr unsigned step_bits = log2_floor(Config.classes_per_doubling);
  static constexpr unsigned doublings = log2_floor(Config.span_block_limit) - log2_floor(linear_limit);

public:
  // The class of a size up to this is looked up in a table, one byte for 16 bytes of size; the class of a
  // larger size is computed. Only looked-up sizes take malloc's fast path.
  static constexpr std::size_t lookup_limit = 32 * kib;
  static constexpr unsigned count = linear_count + doublings * Config.classes_per_doubling;

  // Precondition: bytes <= span_block_limit. 0 bytes count as 1.
  static constexpr unsigned index_of_computed(std::size_t bytes) {
    if (bytes <= linear_limit) return narrow<unsigned>((bytes + class_step - 1) / class_step - (bytes != 0));
    const std::size_t below = bytes - 1;
    const unsigned exponent = log2_floor(below);
    const auto step = narrow<unsigned>(below >> (exponent - step_bits)) - Config.classes_per_doubling;
    return linear_count + (exponent - log2_floor(linear_limit)) * Config.classes_per_doubling + step;
  }

  static constexpr unsigned index_of(std::size_t bytes) {
    return bytes <= lookup_limit ? narrow<unsigned>(looked_up(bytes)) : index_of_computed(bytes);
  }

  // Every class ends at a multiple of class_step, so that all sizes of a step have one class. Precondition:
  // bytes <= lookup_limit.
  static constexpr std::size_t looked_up(std::size_t bytes) {
    return std::size_t{lookup[step_of(bytes)]} - 1;
  }
  static constexpr std::size_t step_of(std::size_t bytes) { return (bytes + class_step - 1) / class_step; }

  // The smallest class of blocks that hold `bytes` and are multiples of `alignment`, a power of two.
  // `count` if there is none. `bytes` with the canary, where blocks have one.
  static constexpr unsigned index_of_aligned(std::size_t alignment, std::size_t bytes) {
    if (bytes > Config.span_block_limit || alignment > Config.span_block_limit) return count;
    // The next multiple of the alignment has the class, but for colors and gaps between classes.
    unsigned index = index_of(align_up(std::max<std::size_t>(bytes, 1), alignment));
    while (index < count && !are_aligned(table[index], alignment)) ++index;
    return index;
  }

  // How large to make a block of `from` bytes that is to hold `wanted`. A block that grows in small steps
  // would otherwise be copied at each step that leads to another class.
  static constexpr std::size_t grown(std::size_t from, std::size_t wanted) {
    if (from < grows_ahead_from) return wanted;
    const std::size_t ahead = wanted >= copied_dear ? wanted * Config.growth_ahead_percent / 100 : 0;
    const std::size_t generous = std::max(from + from * Config.growth_percent / 100, wanted + ahead);
    return std::max(wanted, std::min(generous, Config.span_request_limit()));
  }

  // Where the first block of a span begins, in bytes. Multiples of the golden ratio: spans in turn get colors
  // that are far apart, and all colors come equally often.
  static std::uint32_t color_of(std::uint32_t span_number, const size_class& kind) {
    const std::uint32_t fraction = span_number * 0x9E37'79B9U;
    const std::uint64_t color = (std::uint64_t{fraction} * kind.colors) >> 32;
    return narrow<std::uint32_t>(color * color_step);
  }

  static constexpr std::array<size_class, count> make_table() {
    std::array<size_class, count> result{};
    for (unsigned index = 0; index < count; ++index) {
      size_class& kind = result[index];
      const std::size_t bytes = block_bytes_of(index);
      kind.block_bytes = narrow<std::uint32_t>(bytes);
      kind.fine = bytes <= Config.fine_block_limit;
      kind.blocks = Config.blocks_in_span(Config, bytes);
      const std::size_t used = kind.blocks * bytes + Config.span_header_bytes, room = room_for_colors(kind);
      kind.colors = narrow<std::uint16_t>(room / color_step + 1);
      kind.real_span_bytes = narrow<std::uint32_t>(align_up(used + room, os_pages::smallest_page_bytes));
      const std::size_t fitting = cached_bytes / bytes;
      const std::size_t most = std::min<std::size_t>(fitting, Config.most_cached);
      const std::size_t large = std::min<std::size_t>(large_cached_bytes / bytes, Config.large_cached);
      kind.most_cached = narrow<std::uint8_t>(std::max(most, large));
      const std::size_t fewest = std::min<std::size_t>(fitting, Config.fewest_cached);
      kind.fewest_cached = narrow<std::uint8_t>(std::max<std::size_t>(fewest, kind.most_cached > 0 ? 1 : 0));
      const std::size_t batch = std::clamp<std::size_t>(Config.fresh_batch_bytes / bytes, 1, kind.blocks);
      kind.fresh_batch = narrow<std::uint16_t>(std::min<std::size_t>(batch, Config.fresh_batch_blocks));
      kind.reciprocal = (std::uint64_t{1} << reciprocal_shift) / bytes + 1;
    }
    assign_slots(result);
    return result;
  }

  static constexpr std::array<size_class, count> table = make_table();

  // Bytes of a coarse span that blocks of some class touch.
  static constexpr std::size_t most_coarse_bytes() {
    std::size_t most = 0;
    for (const size_class& kind : table)
      if (!kind.fine) most = std::max<std::size_t>(most, kind.real_span_bytes);
    return most;
  }

  static constexpr unsigned slot_count() {
    return std::ranges::max(table, {}, &size_class::pool_slot).pool_slot + 1U;
  }

private:
  static constexpr std::size_t block_bytes_of(unsigned index) {
    if (index < linear_count) return (index + 1) * class_step;
    const unsigned doubling = (index - linear_count) / Config.classes_per_doubling;
    const unsigned step = (index - linear_count) % Config.classes_per_doubling;
    const std::size_t base = linear_limit << doubling;
    return base + (step + 1) * (base / Config.classes_per_doubling);
  }

  // Whether all blocks of the class begin at multiples of `alignment`, a power of two.
  static constexpr bool are_aligned(const size_class& kind, std::size_t alignment) {
    return (kind.block_bytes & (alignment - 1)) == 0 && (kind.colors == 1 || alignment <= color_step);
  }

  // Bytes by which the blocks of a span may be shifted: to the end of their last page, and into a further
  // page where that is a small part of the span.
  static constexpr std::size_t room_for_colors(const size_class& kind) {
    if (kind.block_bytes < Config.color_from_bytes || is_power_of_two(kind.block_bytes)) return 0;
    constexpr std::size_t page = os_pages::smallest_page_bytes;
    const std::size_t used = std::size_t{kind.blocks} * kind.block_bytes;
    const std::size_t span = kind.fine ? Config.fine_span_bytes : Config.coarse_span_bytes;
    const std::size_t in_page = align_up(used, page) - used;
    return std::min(used < Config.color_page_from_bytes ? in_page : page - color_step, span - used);
  }

  // Classes of one zone and one real-span size share a slot of the span-pool. Fine spans that fill their
  // address space count as one size, whatever their last block leaves unused.
  static constexpr void assign_slots(std::array<size_class, count>& classes) {
    std::uint16_t next = 0;
    for (size_class& kind : classes) {
      kind.pool_slot = next;
      for (const size_class* other = classes.data(); other != &kind; ++other)
        if (other->fine == kind.fine && same_size(*other, kind)) kind.pool_slot = other->pool_slot;
      if (kind.pool_slot == next) ++next;
    }
  }

  static constexpr bool same_size(const size_class& kind, const size_class& other) {
    if (kind.real_span_bytes == other.real_span_bytes) return true;
    return kind.fine && other.fine && Config.fine_span_bytes < Config.coarse_span_bytes;
  }

  // Of each class the number of its list (page_map.h), one more, as malloc's fast path needs it.
  static constexpr auto make_lookup() {
    std::array<std::uint8_t, lookup_limit / class_step + 1> result{};
    for (std::size_t step = 0; step < result.size(); ++step)
      result[step] = static_cast<std::uint8_t>(index_of_computed(step * class_step) + 1);
    return result;
  }

public:
  static constexpr auto lookup = make_lookup();

  // Whether every class fits its span, every size has the smallest class that holds the size, and the
  // reciprocals divide exactly. span_life.h asserts this, because the table is not complete yet here.
  static constexpr bool is_valid() {
    for (unsigned index = 0; index < count; ++index) {
      const size_class& kind = table[index];
      const std::size_t span = kind.fine ? Config.fine_span_bytes : Config.coarse_span_bytes;
      if (kind.blocks == 0 || kind.real_span_bytes > span) return false;
      const std::size_t last_color = (kind.colors - std::size_t{1}) * color_step;
      if (kind.blocks * std::size_t{kind.block_bytes} + last_color > kind.real_span_bytes) return false;
      if (kind.block_bytes % class_step != 0) return false;
      if (index_of_computed(kind.block_bytes) != index) return false;
      if (index_of_computed(kind.block_bytes + 1) != index + 1 && index + 1 < count) return false;
      const std::uint64_t last = kind.real_span_bytes - std::uint64_t{1};
      if ((kind.reciprocal * last) >> reciprocal_shift != last / kind.block_bytes) return false;
    }
    return table[count - 1].block_bytes == Config.span_block_limit && count < 256;
  }

private:
  static_assert(is_power_of_two(Config.classes_per_doubling) && Config.classes_per_doubling <= 16);
  static_assert(Config.fewest_cached <= Config.most_cached && Config.most_cached <= UINT8_MAX);
};

// --- which blocks of a span lie in which of its pages; `color`: of the span ---

// Numbers of blocks, from `first` up to but not including `end`.
struct block_range {
  std::uint32_t first, end;
};

inline std::uint32_t pages_of(const size_class& kind) {
  return narrow<std::uint32_t>(align_up(kind.real_span_bytes, os_pages::page_bytes()) /
                               os_pages::page_bytes());
}

// The blocks that begin before byte `offset`.
inline std::uint32_t blocks_before(std::size_t offset, const size_class& kind, std::uint32_t color) {
  const std::size_t bytes = offset - std::min<std::size_t>(offset, color);
  const std::size_t count = (bytes + kind.block_bytes - 1) / kind.block_bytes;
  return narrow<std::uint32_t>(std::min<std::size_t>(count, kind.blocks));
}

// The blocks whose first byte is in the page.
inline block_range blocks_beginning_in(std::uint32_t page, const size_class& kind, std::uint32_t color) {
  const std::size_t begin = page * os_pages::page_bytes();
  return {blocks_before(begin, kind, color), blocks_before(begin + os_pages::page_bytes(), kind, color)};
}

// The blocks that have any byte in the page.
inline block_range blocks_touching(std::uint32_t page, const size_class& kind, std::uint32_t color) {
  const std::size_t begin = page * os_pages::page_bytes();
  const std::size_t bytes = begin - std::min<std::size_t>(begin, color);
  const std::uint32_t end = blocks_before(begin + os_pages::page_bytes(), kind, color);
  return {std::min(narrow<std::uint32_t>(bytes / kind.block_bytes), end), end};
}

// `holes` as in the record of a span: bit p stands for page p.
inline std::uint32_t blocks_in_holes(std::uint32_t holes, const size_class& kind, std::uint32_t color) {
  std::uint32_t count = 0;
  for (; holes != 0; holes &= holes - 1) {
    const auto page = static_cast<std::uint32_t>(std::countr_zero(holes));
    const block_range in = blocks_beginning_in(page, kind, color);
    count += in.end - in.first;
  }
  return count;
}

}  // namespace heaplab::scalloc
