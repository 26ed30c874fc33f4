// The predicate that the preset `paranoid` asserts: it holds of a sound heap and finds a planted fault.
#include <gtest/gtest.h>

#include <memory>

#include "allocators/llheap/thread_heap.h"

namespace heaplab::llheap {
namespace {

// A heap that has carved three blocks of one bucket, and has the first two back.
struct worn_heap {
  worn_heap() {
    heap->extend_buffer(memory, memory + sizeof memory);
    for (header*& block : blocks) block = heap->try_carve(bucket);
    heap->push(bucket, blocks[0]);
    heap->push(bucket, blocks[1]);
  }

  static constexpr std::size_t bucket = 4;
  alignas(minimum_alignment) char memory[4096];
  std::unique_ptr<thread_heap> heap = std::make_unique<thread_heap>();
  header* blocks[3];
};

TEST(invariants, hold_of_a_sound_heap) {
  worn_heap worn;
  EXPECT_TRUE(worn.heap->is_valid());
  EXPECT_EQ(worn.heap->count_free(worn.bucket), 2U);
}

TEST(invariants, see_a_freed_block_whose_link_was_overwritten) {
  worn_heap worn;
  // What a write through a stale pointer, or beyond the end of the block before, leaves behind.
  worn.blocks[1]->word = reinterpret_cast<std::uintptr_t>(worn.blocks[0]);
  EXPECT_FALSE(worn.heap->is_valid());
}

TEST(invariants, see_a_live_block_in_a_free_list) {
  worn_heap worn;
  worn.blocks[2]->word = reinterpret_cast<std::uintptr_t>(worn.heap.get()) | worn.bucket << 4;
  worn.blocks[0]->word = link_to(worn.blocks[2]);
  EXPECT_FALSE(worn.heap->is_valid());
}

TEST(invariants, see_a_buffer_that_ends_before_it_begins) {
  worn_heap worn;
  worn.heap->extend_buffer(worn.memory + 64, worn.memory);
  EXPECT_FALSE(worn.heap->is_valid());
}

}  // namespace
}  // namespace heaplab::llheap
