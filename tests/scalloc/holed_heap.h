// A small heap whose spans have several pages, and the blocks in use. A block's contents tell whether its
// memory went back to the system while the block was in use.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <vector>

#include "allocators/scalloc/idle/hole_sweep.h"
#include "scalloc/small_heap.h"
#include "support/fake_platform.h"

namespace heaplab::scalloc::testing {

// The test acts before pages go back.
struct hooked_platform : fake_platform {
  static inline std::function<void()> before_purge;
  static bool purge_each(std::span<const iovec> ranges) {
    if (before_purge) before_purge();
    return os_pages::purge_each(ranges);
  }
};

// Spans of four pages, of blocks of a page each or a quarter of a page.
template <unsigned Blocks>
constexpr config paged_config() {
  config result = small_config<Blocks>();
  result.fine_span_bytes = result.coarse_span_bytes = 16 * kib;
  result.fine_block_limit = result.span_block_limit = 16 * kib / Blocks;
  result.purges_holes = true;
  result.hole_sweep_bytes = 0;
  return result;
}

template <class Sync, const config& Config>
class holed_heap : public small_heap<Sync, Config, hooked_platform> {
  using base = small_heap<Sync, Config, hooked_platform>;

public:
  using base::base;
  using traits = test_traits<Sync, Config, hooked_platform>;

  // Blocks of thread 0.
  void fill(unsigned count) {
    for (unsigned step = 0; step < count; ++step) this->blocks.push_back(take(0));
  }
  void* take(unsigned thread) {
    void* const block = this->allocate(thread);
    require(live.insert(block).second, "a block in use was handed out");
    contents(block) = block;
    return block;
  }
  void release(unsigned thread, unsigned index) {
    void* const block = this->blocks[index];
    require(contents(block) == block, "memory of a block in use went back");
    live.erase(block);
    this->free(thread, block);
  }

  void check_all() {
    for (void* const block : live) require(contents(block) == block, "memory of a block in use went back");
    this->check(live);
  }

  std::set<void*> live;
  hole_sweep<traits> holes{this->life};

private:
  // Behind the link of a free block, and its mark.
  static void*& contents(void* block) { return static_cast<void**>(block)[2]; }
};

}  // namespace heaplab::scalloc::testing
