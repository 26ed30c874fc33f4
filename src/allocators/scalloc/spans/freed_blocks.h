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
  void* newest_block = nullptr;
  void* oldest_block = nullptr;
  std::uint32_t length = 0;

  void* newest() const { return newest_block; }
  void* oldest() const { return oldest_block; }
  std::uint32_t count() const { return length; }
};

}  // namespace heaplab::scalloc
