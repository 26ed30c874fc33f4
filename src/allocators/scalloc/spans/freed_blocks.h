// Blocks of one span that join its remote list at once.
#pragma once

#include <cstdint>

namespace heaplab::scalloc {

struct freed_block {
  void* block;

  void* newest() const { return block; }
  void* oldest() const { return block; }
  static constexpr std::uint32_t count() { return 1; }
};

// Linked by the secrets of the span, from the newest to the oldest.
struct freed_chain {
  void* newest_block;
  void* oldest_block;
  std::uint32_t length;

  void* newest() const { return newest_block; }
  void* oldest() const { return oldest_block; }
  std::uint32_t count() const { return length; }

  // Puts the blocks of another chain of the span in front.
  template <class Secrets>
  void add(const Secrets& secrets, const freed_chain& newer) {
    secrets.link(newer.oldest_block, newest_block);
    newest_block = newer.newest_block;
    length += newer.length;
  }
};

}  // namespace heaplab::scalloc
