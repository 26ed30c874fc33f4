// malloc, calloc and free: C23 7.24.3, POSIX.1-2024, and malloc(3) where these leave a choice.
#include <sys/mman.h>

#include <random>
#include <vector>

#include "check/amount.h"
#include "check/contract/api.h"

namespace contract {
namespace {

TEST(malloc, is_aligned_for_every_type_that_fits) {
  for (const std::size_t size : sizes) {
    const block memory(std::malloc(opaque(size)));
    ASSERT_NE(memory, nullptr) << size;
    EXPECT_TRUE(aligned_for_its_size(memory.get(), size)) << size;
  }
}

// glibc promises this alignment beyond the standard, and programs written for glibc expect it.
TEST(malloc, is_aligned_for_every_type_at_every_size) {
  for (const std::size_t size : sizes) {
    block several[4];
    for (block& memory : several) {
      memory.reset(std::malloc(opaque(size)));
      ASSERT_NE(memory, nullptr) << size;
      EXPECT_TRUE(aligned(memory.get(), alignof(std::max_align_t))) << size;
    }
  }
}

TEST(malloc, gives_memory_that_holds_its_contents) {
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

TEST(malloc, of_zero_gives_a_block_of_its_own) {
  const block memory(std::malloc(opaque(std::size_t{0})));
  const block other(std::malloc(opaque(std::size_t{0})));
  EXPECT_NE(memory, nullptr);
  EXPECT_NE(other, nullptr);
  EXPECT_NE(memory.get(), other.get());
}

TEST(malloc, of_more_than_ptrdiff_max_is_enomem) {
  for (const std::size_t size : too_large)
    EXPECT_EQ(error_of([=] { return std::malloc(opaque(size)); }), ENOMEM) << size;
}

TEST(malloc, of_more_than_there_is_is_enomem) {
  EXPECT_EQ(error_of([] { return std::malloc(opaque(std::size_t{PTRDIFF_MAX})); }), ENOMEM);
}

// malloc refuses a size that the kernel refuses as obvious overcommit or that a limit forbids: the program
// learns at once that there is no memory, instead of being killed at a later write.
TEST(malloc, of_more_than_the_kernel_gives_is_enomem) {
  constexpr std::size_t size = std::size_t{16} << 40;
  void* const given = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (given != MAP_FAILED) {
    munmap(given, size);
    GTEST_SKIP() << "the kernel gives 16 TiB to everybody";
  }
  void* (*const ways[])() = {
      [] { return std::malloc(opaque(size)); },
      [] { return std::calloc(opaque(size), 1); },
      [] { return aligned_alloc(64, opaque(size)); },
      [] { return aligned_alloc(std::size_t{64} << 20, opaque(size)); },
      [] { return std::realloc(opaque<void*>(nullptr), opaque(size)); },
  };
  for (std::size_t way = 0; way < std::size(ways); ++way) EXPECT_EQ(error_of(ways[way]), ENOMEM) << way;
  for (const std::size_t before : {std::size_t{100}, std::size_t{3} << 20, std::size_t{80} << 20}) {
    const block memory(std::malloc(before));
    ASSERT_NE(memory, nullptr);
    fill(memory.get(), 100, 3);
    EXPECT_EQ(error_of([&] { return std::realloc(opaque(memory.get()), opaque(size)); }), ENOMEM) << before;
    EXPECT_TRUE(holds(memory.get(), 100, 3)) << before;
  }
}

TEST(malloc, goes_on_after_a_refusal) {
  EXPECT_EQ(block(std::malloc(opaque(SIZE_MAX))), nullptr);
  const block some(std::malloc(100));
  ASSERT_NE(some, nullptr);
  fill(some.get(), 100, 1);
  EXPECT_TRUE(holds(some.get(), 100, 1));
}

TEST(free, of_null_does_nothing) {
  std::free(opaque<void*>(nullptr));
}

TEST(free, keeps_errno) {
  for (const std::size_t size : sizes) {
    void* const memory = std::malloc(opaque(size));
    errno = 4711;
    std::free(memory);
    EXPECT_EQ(errno, 4711) << size;
  }
  std::vector<void*> many(20000);
  for (void*& memory : many) memory = std::malloc(opaque(std::size_t{3000}));
  errno = 4711;
  for (void* const memory : many) std::free(memory);
  EXPECT_EQ(errno, 4711);
}

TEST(calloc, gives_zeros_in_memory_that_was_dirty) {
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size : sizes) {
      const block memory(std::calloc(opaque(std::size_t{1}), size));
      ASSERT_NE(memory, nullptr) << size;
      EXPECT_TRUE(aligned_for_its_size(memory.get(), size)) << size;
      EXPECT_TRUE(is_zero(memory.get(), size)) << size;
      std::memset(memory.get(), 0xff, usable_of(memory.get(), size));
    }
  }
}

// A large block may be cut from a larger one that was freed, and be made larger when it is freed in turn.
TEST(calloc, gives_zeros_where_larger_and_smaller_blocks_lay) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size : {10 * mebibyte, 6 * mebibyte, 8 * mebibyte, 3 * mebibyte, 4 * mebibyte}) {
      const block memory(std::calloc(opaque(std::size_t{1}), size));
      ASSERT_NE(memory, nullptr) << size;
      EXPECT_TRUE(is_zero(memory.get(), size)) << size;
      std::memset(memory.get(), 0xff, usable_of(memory.get(), size));
    }
  }
}

// Every class gets memory that its own blocks and those of other classes have made dirty, in random order and
// so often that a block that is left dirty now and then is seen.
TEST(calloc, gives_zeros_thousands_of_times_in_every_class) {
  constexpr std::size_t bytes_of_each = std::size_t{4} << 20, most_live = 64;
  std::minstd_rand random;
  block live[most_live];
  for (const std::size_t size : sizes) {
    const std::size_t times = std::clamp<std::size_t>(bytes_of_each / (size + 1), 4, 3000);
    for (std::size_t i = 0; i < times * (heaplab::check::is_short() ? 1 : 4); ++i) {
      block& memory = live[random() % (size < 1'000'000 ? most_live : 4)];
      const bool zeroed = random() % 4 != 0;
      memory.reset();
      memory.reset(zeroed ? std::calloc(opaque(std::size_t{1}), size) : std::malloc(size));
      ASSERT_NE(memory, nullptr) << size;
      ASSERT_TRUE(!zeroed || is_zero(memory.get(), size)) << "call " << i << " of " << size << " bytes";
      std::memset(memory.get(), 0xff, usable_of(memory.get(), size));
    }
  }
}

TEST(calloc, multiplies_its_arguments) {
  const block memory(std::calloc(opaque(std::size_t{1000}), 24));
  ASSERT_NE(memory, nullptr);
  EXPECT_GE(usable_of(memory.get(), 24000), 24000U);
  EXPECT_TRUE(is_zero(memory.get(), 24000));
}

TEST(calloc, of_nothing_gives_a_block_of_its_own) {
  const block memory(std::calloc(opaque(std::size_t{0}), 8));
  const block other(std::calloc(opaque(std::size_t{8}), 0));
  EXPECT_NE(memory, nullptr);
  EXPECT_NE(other, nullptr);
  EXPECT_NE(memory.get(), other.get());
}

TEST(calloc, of_a_product_that_overflows_is_enomem) {
  const std::size_t factors[][2] = {{SIZE_MAX, 2},         {2, SIZE_MAX},
                                    {SIZE_MAX / 2 + 2, 2}, {std::size_t{1} << 32, std::size_t{1} << 32},
                                    {SIZE_MAX / 3, 3},     {std::size_t{1} << 62, 2},
                                    {1, SIZE_MAX}};
  for (const auto& pair : factors)
    EXPECT_EQ(error_of([&] { return std::calloc(opaque(pair[0]), opaque(pair[1])); }), ENOMEM)
        << pair[0] << " x " << pair[1];
}

}  // namespace
}  // namespace contract
