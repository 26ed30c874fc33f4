// The secrets of a span: the key of the links of its free blocks, and the canary behind each of its blocks.
// Both change with each tenure of the span. And the order in which fresh blocks are linked: shuffled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "allocators/scalloc/policy/size_classes.h"
#include "base/compiler.h"
#include "base/fatal.h"
#include "base/narrow.h"

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
    std::memcpy(static_cast<char*>(block) + usable_bytes(), &value, sizeof value);
  }

  HEAPLAB_FAST_PATH bool has_canary(const void* block) const {
    canary value;
    std::memcpy(&value, static_cast<const char*>(block) + usable_bytes(), sizeof value);
    return value == canary_of(block);
  }

private:
  static std::uint64_t number_of(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }

  canary canary_of(const void* block) const { return canary_key_ ^ number_of(block); }

  std::uint64_t link_key_ = 0;
  std::uint64_t canary_key_ = 0;
  // The bits in which the addresses of two blocks of the span never differ.
  std::uint64_t not_between_blocks_ = 0;
  std::uint32_t granule_shift_ = 0;
  std::uint32_t usable_bytes_ = 0;
};

// 16 random bits at a time, of words that follow from one word of the source by splitmix64 (Steele, Lea,
// Flood). Who learns the whole order of a batch may find that word, from which no other number of the source
// follows.
class random_parts {
public:
  explicit random_parts(std::uint64_t seed) : seed_(seed) {}

  // A number below `bound` <= 2^16, each about equally likely.
  std::uint32_t below(std::uint32_t bound) {
    if (left_ == 0) {
      word_ = next();
      left_ = 4;
    }
    --left_;
    const auto part = low_bits<std::uint16_t>(word_);
    word_ >>= 16;
    return (std::uint32_t{part} * bound) >> 16;
  }

private:
  std::uint64_t next() {
    std::uint64_t word = seed_ += 0x9e37'79b9'7f4a'7c15U;
    word = (word ^ (word >> 30)) * 0xbf58'476d'1ce4'e5b9U;
    word = (word ^ (word >> 27)) * 0x94d0'49bb'1331'11ebU;
    return word ^ (word >> 31);
  }

  std::uint64_t seed_;
  std::uint64_t word_ = 0;
  unsigned left_ = 0;
};

// Instead of block_secrets in a heap that is not hardened. A link is the address of the next free block.
struct plain_links {
  static void* next_of(const void* block) { return *static_cast<void* const*>(block); }
  static void link(void* block, void* next) { *static_cast<void**>(block) = next; }
};

// Links `count` <= Most blocks of a span that lie side by side from `first` on into a list in random order
// (Fisher, Yates), and writes their canaries. Returns the first block of the list.
template <std::size_t Most, class Secrets, class Random>
void* link_shuffled(const Secrets& secrets, char* first, std::uint32_t count, Random& random) {
  static_assert(Most <= 4096, "the order lies on the stack");
  std::uint16_t order[Most];
  random_parts parts(random.next());
  for (std::uint32_t index = 0; index < count; ++index) {
    const std::uint32_t other = parts.below(index + 1);
    order[index] = order[other];
    order[other] = static_cast<std::uint16_t>(index);
  }
  void* newest = nullptr;
  for (std::uint32_t index = 0; index < count; ++index) {
    void* const block = first + std::size_t{order[index]} * secrets.block_bytes();
    secrets.write_canary(block);
    secrets.link(block, newest);
    newest = block;
  }
  return newest;
}

}  // namespace heaplab::scalloc
