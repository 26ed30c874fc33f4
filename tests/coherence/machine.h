// A machine of up to 256 cores with coherent caches, simulated: the threads of a program run by turns, and
// every access to memory while a core is at work goes through the directory of cache lines.
//
// Accesses come from two sides. Atomic operations are reported by simulated_sync (simulated_sync.h), all
// others by the compiler: the simulated code is compiled with -fsanitize=thread, which puts a call before
// each access to memory, and compiler_calls.cpp has those calls instead of the sanitizer's run-time library.
// The stack on which the threads run by turns is left out: each thread has its own in truth.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coherence/directory.h"

namespace heaplab::coherence {

// What was counted while cores were at work.
struct counts {
  std::uint64_t operations = 0;
  std::uint64_t transfers = 0;        // reads and writes that took a line from another core
  std::uint64_t write_transfers = 0;  // of these, writes
  std::uint64_t far_transfers = 0;    // of all, those between nodes
  std::uint64_t atomic_changes = 0;   // atomic read-modify-write operations

  counts& operator+=(const counts& other);
  double per_operation(std::uint64_t number) const {
    return static_cast<double>(number) / static_cast<double>(operations);
  }
};

class machine {
public:
  machine();

  // Divides the cores among nodes; one node is the default.
  template <class NodeOf>
  void place(NodeOf node_of) {
    directory_.place(node_of);
  }

  // Runs `work` on a core, and returns what was counted. Not nested.
  template <class Work>
  counts run(unsigned core, Work&& work) {
    begin(core);
    work();
    return end();
  }

  // The machine on which code is running, or null.
  static machine* running() { return running_; }

  void read(const volatile void* address, std::size_t bytes = 1);
  void write(const volatile void* address, std::size_t bytes = 1);
  // An atomic read-modify-write: the core needs the only copy of the line, also if the comparison fails.
  void change(const volatile void* address);

private:
  // Out of line, so that the machine's own accesses are not reported as the core's.
  void begin(unsigned core);
  counts end();
  void count(move of, bool is_write);
  template <class Access>
  void for_each_line(const volatile void* address, std::size_t bytes, Access&& access);

  directory directory_;
  counts seen_;
  unsigned core_ = 0;
  std::uintptr_t stack_begin_ = 0, stack_end_ = 0;

  static inline machine* running_ = nullptr;
};

}  // namespace heaplab::coherence
