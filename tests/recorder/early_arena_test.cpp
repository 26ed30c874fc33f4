#include "recorder/early_arena.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace heaplab::recorder {
namespace {

// What the arena does not own would go to the free of another malloc.
TEST(early_arena, owns_every_block_up_to_the_last_of_no_bytes) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{100}}) {
    early_arena tested;
    std::size_t blocks = 0;
    while (const void* const block = tested.allocate(size)) {
      ++blocks;
      ASSERT_TRUE(tested.owns(block)) << "block " << blocks << " of " << size << " bytes";
      ASSERT_EQ(tested.size_of(block), size);
    }
    EXPECT_GT(blocks, 200U);
  }
}

}  // namespace
}  // namespace heaplab::recorder
