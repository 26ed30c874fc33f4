// Blocks of one span that join its remote list at once.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/compiler.h"

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

// Blocks of one span of another owner, which a thread gives back together: one compare-and-swap for all of
// them. For one thread. A fork may copy the thread at any instruction: the child may lose blocks, or count
// fewer than there are, and finds none twice.
template <class Span>
class remote_batch {
public:
  // False if empty.
  HEAPLAB_FAST_PATH bool is_of(const Span& span) const { return span_ == &span; }
  std::uint32_t count() const { return chain_.count(); }

  // Precondition: empty. The length comes last: until then a child of fork finds an empty batch.
  void begin(Span& span, void* block) {
    span.secrets.link(block, nullptr);
    span_ = &span;
    chain_ = {block, block, 0};
    std::atomic_signal_fence(std::memory_order_seq_cst);
    chain_.length = 1;
  }

  // Precondition: is_of(span).
  HEAPLAB_FAST_PATH void add(const Span& span, void* block) {
    span.secrets.link(block, chain_.newest_block);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    chain_.newest_block = block;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ++chain_.length;
  }

  // Calls visit(span, chain) unless empty. The batch is empty before that: a child of fork must not give the
  // blocks back again. What a vanished thread had begun is forgotten as well.
  template <class Visit>
  HEAPLAB_FAST_PATH void take(Visit&& visit) {
    Span* const of = span_;
    const freed_chain taken = chain_;
    chain_.length = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    span_ = nullptr;
    if (taken.length != 0) visit(*of, taken);
  }

private:
  Span* span_ = nullptr;
  freed_chain chain_ = {};
};

}  // namespace heaplab::scalloc
