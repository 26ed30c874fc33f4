// A block as it lies in memory:
//
//     | home word | request |  user's bytes ...                      plain
//     | home word | request |  idle  | offset | alignment | user's   aligned: a fake header precedes the user
//
// The home word of a live block names its heap (aligned to home_alignment), its bucket in bits 4 to 10, and
// its flags in bits 0 to 3 and 11. The home word of a mapped block holds the size of the mapping and the
// flags; the home word of a free block is the link to the next free block. Links carry the flag `freed`, so
// that the test which every free makes anyway recognises a block that is freed twice before it is handed out
// again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/llheap/size_classes.h"
#include "base/bits.h"
#include "base/heap_concept.h"

namespace heaplab::llheap {

enum flag : std::uintptr_t {
  fake = 1,         // not a header but a mark of alignment: {offset to the header | fake, alignment}
  zero_filled = 2,  // every byte beyond the request is zero, unless the program wrote it
  mapped = 4,       // the block is a mapping of its own
  freed = 8,
  large = 2048,  // when free, the block may hold no pages but the first (large_retention.h)
};

inline constexpr std::uintptr_t flag_bits = 15;  // of links and of mapped blocks
inline constexpr std::size_t home_alignment = 4096;
inline constexpr std::uintptr_t bucket_bits = large - 1 - flag_bits;
inline constexpr std::size_t minimum_alignment = heaplab::heap_alignment;

struct header {
  std::uintptr_t word;
  std::size_t second;  // requested bytes; in a fake header, the alignment
};
static_assert(sizeof(header) == minimum_alignment);

inline header* header_of(void* user) {
  return static_cast<header*>(user) - 1;
}

// A free list is a chain of these; the value `freed` alone ends it.
using link = std::uintptr_t;
inline constexpr link no_link = freed;

inline link link_to(header* block) {
  return reinterpret_cast<std::uintptr_t>(block) | freed;
}
inline header* block_at(link linked) {
  return reinterpret_cast<header*>(linked - freed);
}

// What a user's pointer says about its block.
class block_view {
public:
  explicit block_view(void* user) : user_(static_cast<char*>(user)), real_(header_of(user)) {
    if ((real_->word & fake) == 0) return;
    mark_ = real_;
    real_ = reinterpret_cast<header*>(user_ - (mark_->word & ~flag_bits));
  }

  header* real() const { return real_; }
  bool is(flag wanted) const { return (real_->word & wanted) != 0; }
  std::size_t request() const { return real_->second; }
  std::size_t bucket() const { return (real_->word & bucket_bits) >> 4; }
  std::size_t alignment() const { return mark_ != nullptr ? mark_->second : minimum_alignment; }
  bool has_mark() const { return mark_ != nullptr; }

  // Bytes of the whole block, header included.
  std::size_t total_bytes() const {
    return is(mapped) ? real_->word & ~flag_bits : sizeof(header) + bucket_bytes(bucket());
  }
  // Bytes from the user's pointer to the end of the block.
  std::size_t usable() const {
    return total_bytes() - static_cast<std::size_t>(user_ - reinterpret_cast<char*>(real_));
  }

  void set_request(std::size_t bytes) { real_->second = bytes; }
  void clear(flag unwanted) { real_->word &= ~std::uintptr_t{unwanted}; }
  // Records another alignment, which the address has already. Without a mark, does nothing.
  void set_alignment(std::size_t alignment) {
    if (mark_ != nullptr) mark_->second = alignment;
  }

private:
  char* user_;
  header* real_;
  header* mark_ = nullptr;
};

// Room for a fake header and for moving up to `alignment`, a power of two.
constexpr std::size_t bytes_to_align(std::size_t alignment) {
  return alignment;
}

// Sets the fake header in a block that was obtained with bytes_to_align more; returns the user's pointer.
inline void* mark_alignment(header* block, std::size_t alignment) {
  char* const start = reinterpret_cast<char*>(block);
  const auto earliest = reinterpret_cast<std::uintptr_t>(start + 2 * sizeof(header));
  char* const user = start + (align_up(earliest, alignment) - reinterpret_cast<std::uintptr_t>(start));
  *header_of(user) = {static_cast<std::size_t>(user - start) | fake, alignment};
  return user;
}

}  // namespace heaplab::llheap
