// The secrets of a span: the key of the links of its free blocks, and the canary behind each of its blocks.
// Both change with each tenure of the span.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "allocators/scalloc/policy/size_classes.h"
#include "base/compiler.h"
#include "base/fatal.h"

namespace heaplab::scalloc {

// The type of the canary, which follows the bytes of a block that are the program's.
using canary = std::uint64_t;

class block_secrets {
public:
  // Precondition: the span, of `span_bytes`, begins at a multiple of its size. `granules`: into so many parts
  // the live map divides the span.
  template <class Random>
  void renew(const size_class& kind, std::size_t span_bytes, std::size_t granules, Random& random) {
    link_key_ = random.next();
    canary_key_ = random.next();
    not_between_blocks_ = ~std::uint64_t{span_bytes - class_step};
    granule_shift_ = log2_floor(span_bytes / granules);
    usable_bytes_ = kind.block_bytes - std::uint32_t{sizeof(canary)};
  }

  // Instead of renew(), for a span that is a guard: addresses in it are blocks of no bytes.
  void set_guard() { granule_shift_ = log2_floor(class_step); }
  bool is_of_guard() const { return usable_bytes_ == 0 && granule_shift_ != 0; }

  std::uint32_t block_bytes() const { return usable_bytes_ + std::uint32_t{sizeof(canary)}; }
  std::size_t usable_bytes() const { return usable_bytes_; }

  // The part of the span in which the block begins, counted from anywhere.
  std::size_t granule_of(const void* block) const { return number_of(block) >> granule_shift_; }

  // --- links: the difference (xor) of two addresses, xor the key; the last block is linked to null ---
  //
  // Bytes are reversed: whatever overwrites the beginning of a link changes the bits that all addresses of
  // the span have in common. So it is noticed without knowledge of what the link should be.

  HEAPLAB_FAST_PATH void* next_of(const void* block) const {
    std::uint64_t word;
    std::memcpy(&word, block, sizeof word);
    const std::uint64_t difference = __builtin_bswap64(word ^ link_key_);
    const bool is_last = difference == number_of(block);
    if ((difference & not_between_blocks_) != 0 && !is_last) [[unlikely]]
      fatal("a freed block was written to", block);
    return reinterpret_cast<void*>(number_of(block) ^ difference);
  }

  HEAPLAB_FAST_PATH void link(void* block, const void* next) const {
    const std::uint64_t word = __builtin_bswap64(number_of(block) ^ number_of(next)) ^ link_key_;
    std::memcpy(block, &word, sizeof word);
  }

  // --- canaries: written when a block becomes available for the first time in a tenure ---

  void write_canary(void* block) const {
    const canary value = canary_of(block);
    std::memcpy(place_of_canary(block), &value, sizeof value);
  }

  HEAPLAB_FAST_PATH bool has_canary(const void* block) const {
    canary value;
    std::memcpy(&value, place_of_canary(block), sizeof value);
    return value == canary_of(block);
  }

private:
  static std::uint64_t number_of(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }

  canary canary_of(const void* block) const { return canary_key_ ^ number_of(block); }
  char* place_of_canary(void* block) const { return static_cast<char*>(block) + usable_bytes(); }
  const char* place_of_canary(const void* block) const {
    return static_cast<const char*>(block) + usable_bytes();
  }

  std::uint64_t link_key_ = 0;
  std::uint64_t canary_key_ = 0;
  // The bits in which the addresses of two blocks of the span never differ.
  std::uint64_t not_between_blocks_ = 0;
  std::uint32_t granule_shift_ = 0;
  std::uint32_t usable_bytes_ = 0;
};

}  // namespace heaplab::scalloc
