// A program of several threads that allocates from a simulated scalloc, thread i on core i. What the heap
// does is counted; what the program does with its blocks moves lines and is not counted.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "coherence/machine.h"

namespace heaplab::coherence {

class program {
public:
  virtual ~program() = default;

  virtual void begin_thread(unsigned thread) = 0;
  virtual void end_thread(unsigned thread) = 0;
  // The thread writes to a block that it allocated, and reads a block before it frees the block.
  virtual void* allocate(unsigned thread, std::size_t bytes) = 0;
  virtual void deallocate(unsigned thread, void* block) = 0;
  // How many blocks of this size a span holds.
  virtual unsigned blocks_in_span(std::size_t bytes) const = 0;

  // Divides the cores among nodes.
  template <class NodeOf>
  void place(NodeOf node_of) {
    machine_.place(node_of);
  }

  // Begins to count anew.
  void forget_counts() { all_ = fast_ = {}; }
  const counts& all() const { return all_; }
  // Of the operations for which the fast path was enough.
  const counts& fast() const { return fast_; }

protected:
  void add(counts seen, unsigned operations, bool is_fast) {
    seen.operations = operations;
    all_ += seen;
    if (is_fast) fast_ += seen;
  }

  machine machine_;

private:
  counts all_, fast_;
};

// A library of scalloc, built to be simulated.
struct variant {
  std::string_view name;
  std::unique_ptr<program> (*start)(unsigned threads);
};

// scalloc first, then the paper's arrangement and its ablations.
std::span<const variant> variants();

}  // namespace heaplab::coherence
