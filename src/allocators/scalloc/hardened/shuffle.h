#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/narrow.h"

namespace heaplab::scalloc {

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
