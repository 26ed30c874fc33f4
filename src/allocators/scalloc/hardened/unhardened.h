#pragma once

namespace heaplab::scalloc {

// The other variants have these instead of block_secrets, live_map, random_source, quarantine and
// remote_batch. They need no memory.

// A link is the address of the next free block.
struct plain_links {
  static void* next_of(const void* block) { return *static_cast<void* const*>(block); }
  static void link(void* block, void* next) { *static_cast<void**>(block) = next; }
};

struct no_live_map {};
struct no_empty_blocks {};
struct no_random_source {};
struct no_quarantine {};
struct no_remote_batches {};

}  // namespace heaplab::scalloc
