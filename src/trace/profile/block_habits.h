// What a program could do otherwise with its blocks, found in a pass over its events: reserve a block that
// grows at its final size; keep a block that dies at once on the stack, or use it again.
//
// A block grows by realloc, or by copying: its thread acquires a larger block at the same call site and in
// its next call releases the old one. One copy may be a coincidence; two in a row are a chain.
//
// Memory: some 100 bytes a block that lives, 100 a chain, 32 a link of a chain, a bit an event.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "trace/raw/event.h"

namespace heaplab::trace {

// Blocks that one grew into.
struct block_chain {
  std::uint32_t site = 0;       // where the block grew first
  std::uint64_t most_size = 0;  // bytes
  std::uint64_t growths = 0;
  std::uint64_t copies = 0;  // of these growths, by acquiring, copying and releasing
  std::uint64_t bytes_copied = 0;
};

struct site_habits {
  std::uint64_t temporaries = 0;
  std::uint64_t temporary_bytes = 0;
  std::uint64_t chains = 0;
  std::uint64_t growths = 0;
  std::uint64_t bytes_copied = 0;
};

class block_habits {
public:
  // A block dies at once if its thread releases it within so many calls, and a stack has room for it.
  static constexpr std::uint64_t at_once = 4;
  static constexpr std::uint64_t most_on_stack = 16384;  // bytes

  // Hears each event of a process, in order.
  void see(const event& e);

  // Whether the block that event `number`, counted from 1, acquires dies at once.
  bool dies_at_once(std::uint64_t number) const { return number < at_once_.size() && at_once_[number]; }
  // The chain that begins with its block, or null.
  const block_chain* chain_from(std::uint64_t number) const;
  // The acquisition with whose block the chain begins that its block continues, if there is one.
  std::optional<std::uint64_t> chain_before(std::uint64_t number) const;

  // By call site.
  std::unordered_map<std::uint32_t, site_habits> by_site() const;

private:
  struct block {
    std::uint64_t address = 0;
    std::uint64_t number = 0;  // of its acquisition
    std::uint64_t first = 0;   // number of the acquisition with which its chain begins, or its own
    std::uint64_t call = 0;    // of its thread
    std::uint64_t size = 0;
    std::uint32_t thread = 0;
    std::uint32_t site = 0;
  };
  struct thread_past {
    std::uint64_t calls = 0;
    std::uint64_t acquired = 0;    // address, if that was its last call
    std::optional<block> growing;  // between the halves of a reallocation
  };

  void acquire(const event& e, thread_past& past);
  void release(const event& e, thread_past& past);
  void link(block& newer, const block& older, bool copied);
  static bool is_chain(const block_chain& of);

  std::uint64_t number_ = 0;
  std::unordered_map<std::uint64_t, block> live_;  // by address
  std::unordered_map<std::uint32_t, thread_past> pasts_;
  std::unordered_map<std::uint64_t, block_chain> chains_;    // by number of the first acquisition
  std::unordered_map<std::uint64_t, std::uint64_t> firsts_;  // by number of a later acquisition
  std::vector<bool> at_once_;                                // by number
  std::unordered_map<std::uint32_t, site_habits> temporaries_;
};

}  // namespace heaplab::trace
