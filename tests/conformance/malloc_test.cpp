// malloc, calloc and free: C23 7.24.3, POSIX.1-2024, and malloc(3) where those leave a choice.
#include <vector>

#include "api.h"

namespace conformance {
namespace {

TEST(Malloc, IsAlignedForEveryTypeThatFits) {
  for (const std::size_t size : sizes) {
    const block one(std::malloc(opaque(size)));
    ASSERT_NE(one, nullptr) << size;
    EXPECT_TRUE(aligned_for_its_size(one.get(), size)) << size;
  }
}

// What glibc and programs written for it expect, beyond the standard.
TEST(Malloc, IsAlignedForEveryTypeAtEverySize) {
  for (const std::size_t size : sizes) {
    block several[4];
    for (block& one : several) {
      one.reset(std::malloc(opaque(size)));
      ASSERT_NE(one, nullptr) << size;
      EXPECT_TRUE(aligned(one.get(), alignof(std::max_align_t))) << size;
    }
  }
}

TEST(Malloc, GivesMemoryThatHoldsItsContents) {
  std::vector<block> blocks;
  unsigned seed = 0;
  for (const std::size_t size : sizes) {
    blocks.emplace_back(std::malloc(size));
    ASSERT_NE(blocks.back(), nullptr) << size;
    fill(blocks.back().get(), size, ++seed);
  }
  seed = 0;
  for (const std::size_t size : sizes) {
    EXPECT_TRUE(holds(blocks[seed].get(), size, seed + 1)) << size;
    ++seed;
  }
}

TEST(Malloc, OfZeroGivesABlockOfItsOwn) {
  const block one(std::malloc(opaque(std::size_t{0})));
  const block other(std::malloc(opaque(std::size_t{0})));
  EXPECT_NE(one, nullptr);
  EXPECT_NE(other, nullptr);
  EXPECT_NE(one.get(), other.get());
}

TEST(Malloc, OfMoreThanPtrdiffMaxIsEnomem) {
  for (const std::size_t size : too_large) {
    errno = 0;
    const block none(std::malloc(opaque(size)));
    EXPECT_EQ(none, nullptr) << size;
    EXPECT_EQ(errno, ENOMEM) << size;
  }
}

TEST(Malloc, OfMoreThanThereIsIsEnomem) {
  errno = 0;
  const block none(std::malloc(opaque(std::size_t{PTRDIFF_MAX})));
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(Malloc, GoesOnAfterARefusal) {
  EXPECT_EQ(block(std::malloc(opaque(SIZE_MAX))), nullptr);
  const block some(std::malloc(100));
  ASSERT_NE(some, nullptr);
  fill(some.get(), 100, 1);
  EXPECT_TRUE(holds(some.get(), 100, 1));
}

TEST(Free, OfNullDoesNothing) {
  std::free(opaque<void*>(nullptr));
}

TEST(Free, KeepsErrno) {
  for (const std::size_t size : sizes) {
    void* const one = std::malloc(opaque(size));
    errno = 4711;
    std::free(one);
    EXPECT_EQ(errno, 4711) << size;
  }
  std::vector<void*> many(20000);
  for (void*& one : many) one = std::malloc(opaque(std::size_t{3000}));
  errno = 4711;
  for (void* const one : many) std::free(one);
  EXPECT_EQ(errno, 4711);
}

TEST(Calloc, GivesZerosInMemoryThatWasDirty) {
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size : sizes) {
      const block one(std::calloc(opaque(std::size_t{1}), size));
      ASSERT_NE(one, nullptr) << size;
      EXPECT_TRUE(aligned_for_its_size(one.get(), size)) << size;
      EXPECT_TRUE(is_zero(one.get(), size)) << size;
      std::memset(one.get(), 0xff, malloc_usable_size(one.get()));
    }
  }
}

TEST(Calloc, MultipliesItsArguments) {
  const block one(std::calloc(opaque(std::size_t{1000}), 24));
  ASSERT_NE(one, nullptr);
  EXPECT_GE(malloc_usable_size(one.get()), 24000U);
  EXPECT_TRUE(is_zero(one.get(), 24000));
}

TEST(Calloc, OfNothingGivesABlockOfItsOwn) {
  const block one(std::calloc(opaque(std::size_t{0}), 8));
  const block other(std::calloc(opaque(std::size_t{8}), 0));
  EXPECT_NE(one, nullptr);
  EXPECT_NE(other, nullptr);
  EXPECT_NE(one.get(), other.get());
}

TEST(Calloc, OfAProductThatOverflowsIsEnomem) {
  const std::size_t factors[][2] = {{SIZE_MAX, 2},         {2, SIZE_MAX},
                                    {SIZE_MAX / 2 + 2, 2}, {std::size_t{1} << 32, std::size_t{1} << 32},
                                    {SIZE_MAX / 3, 3},     {std::size_t{1} << 62, 2},
                                    {1, SIZE_MAX}};
  for (const auto& [count, size] : factors) {
    errno = 0;
    const block none(std::calloc(opaque(count), opaque(size)));
    EXPECT_EQ(none, nullptr) << count << " x " << size;
    EXPECT_EQ(errno, ENOMEM) << count << " x " << size;
  }
}

}  // namespace
}  // namespace conformance
