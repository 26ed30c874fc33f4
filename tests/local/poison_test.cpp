// Built with AddressSanitizer only: use after deallocate or release is reported although upstream still has
// the memory.
#include "heaplab/local/poison.h"

#include <gtest/gtest.h>

#include <array>
#include <span>

#include "heaplab/local/local.h"

namespace heaplab::local {
namespace {

template <class Source>
class poison_test : public testing::Test {
protected:
  Source source_;
};

using kinds = testing::Types<monotonic<>, multipool<>, multipool_over_monotonic<>, resource<multipool<>>>;
TYPED_TEST_SUITE(poison_test, kinds);

TYPED_TEST(poison_test, use_after_deallocate_dies) {
  auto* block = static_cast<volatile char*>(this->source_.allocate(100, 8));
  block[99] = 1;
  this->source_.deallocate(const_cast<char*>(block), 100, 8);
  EXPECT_DEATH(block[99] = 1, "use-after-poison");
}

TYPED_TEST(poison_test, use_beyond_the_block_dies) {
  auto* block = static_cast<volatile char*>(this->source_.allocate(100, 8));
  EXPECT_DEATH(block[100] = 1, "use-after-poison");
}

TYPED_TEST(poison_test, deallocating_twice_dies) {
  void* block = this->source_.allocate(100, 8);
  this->source_.deallocate(block, 100, 8);
  EXPECT_DEATH(this->source_.deallocate(block, 100, 8), "is_poisoned");
}

TYPED_TEST(poison_test, use_after_release_dies) {
  auto* block = static_cast<volatile char*>(this->source_.allocate(100, 8));
  this->source_.release();
  EXPECT_DEATH(block[0] = 1, "heap-use-after-free");
}

using poison_monotonic_test = poison_test<monotonic<>>;

TEST_F(poison_monotonic_test, a_buffer_is_closed_while_it_is_lent_and_open_afterwards) {
  alignas(16) std::array<char, 64> buffer;
  volatile char* bytes = buffer.data();
  {
    monotonic<> source({.buffer = std::as_writable_bytes(std::span(buffer))});
    EXPECT_DEATH(bytes[0] = 1, "use-after-poison");
    (void)source.allocate(8, 8);
    bytes[0] = 1;
    source.release();
    EXPECT_DEATH(bytes[0] = 1, "use-after-poison");
  }
  bytes[63] = 1;
}

TEST_F(poison_monotonic_test, rewound_chunks_and_shrunken_blocks_are_closed) {
  auto* block = static_cast<volatile char*>(source_.allocate(100, 8));
  EXPECT_TRUE(source_.try_resize(const_cast<char*>(block), 100, 50));
  EXPECT_DEATH(block[60] = 1, "use-after-poison");
  source_.rewind();
  EXPECT_DEATH(block[0] = 1, "use-after-poison");
}

}  // namespace
}  // namespace heaplab::local
