#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "allocators/scalloc/freed_blocks.h"
#include "base/compiler.h"

namespace heaplab::scalloc {

// Blocks of one span of another owner, which a thread gives back together: one compare-and-swap for all of
// them. For one thread. A fork may copy the thread at any instruction: the child may lose blocks, or count
// fewer than there are, and finds none twice.
template <class Span, std::uint32_t Most>
class remote_batch {
public:
  bool accepts(const Span& it) const { return span_ == &it && chain_.length < Most; }

  // Precondition: accepts(it), or empty.
  HEAPLAB_FAST_PATH void add(Span& it, void* block) {
    if (chain_.length == 0) {
      span_ = &it;
      chain_ = {nullptr, block, 0};
    }
    it.secrets.link(block, chain_.newest_block);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    chain_.newest_block = block;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ++chain_.length;
  }

  // Calls visit(span, chain) unless empty. The batch is empty before: a child of fork must not give the
  // blocks back again.
  template <class Visit>
  void take(Visit&& visit) {
    if (chain_.length == 0) return;
    const freed_chain taken = std::exchange(chain_, {});
    std::atomic_signal_fence(std::memory_order_seq_cst);
    visit(*span_, taken);
  }

private:
  Span* span_ = nullptr;
  freed_chain chain_;
};

}  // namespace heaplab::scalloc
