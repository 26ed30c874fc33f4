// posix_memalign, aligned_alloc, memalign, valloc, pvalloc.
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "check/contract/api.h"

namespace contract {
namespace {

constexpr std::size_t no_powers_of_two[] = {3,   6,    7,    12,   24,           48,
                                            100, 1000, 4095, 4097, SIZE_MAX - 1, SIZE_MAX};

std::size_t page_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(posix_memalign, aligns_blocks_that_hold_their_contents) {
  std::vector<block> blocks;
  std::vector<std::size_t> lengths;
  for (std::size_t alignment = sizeof(void*); alignment <= std::size_t{64} << 20; alignment *= 2) {
    for (const std::size_t size : {0U, 1U, 40U, 256U, 500U, 1024U, 5000U, 70000U, 2U << 20}) {
      void* memory = nullptr;
      ASSERT_EQ(posix_memalign(&memory, alignment, size), 0) << size << " aligned to " << alignment;
      ASSERT_NE(memory, nullptr);
      EXPECT_TRUE(aligned(memory, alignment)) << size << " aligned to " << alignment;
      EXPECT_GE(usable_of(memory, size), size);
      fill(memory, size, static_cast<unsigned>(blocks.size()));
      blocks.emplace_back(memory);
      lengths.push_back(size);
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i)
    EXPECT_TRUE(holds(blocks[i].get(), lengths[i], static_cast<unsigned>(i))) << i;
}

TEST(posix_memalign, of_an_alignment_that_is_no_power_of_two_is_einval_and_leaves_the_result) {
  for (const std::size_t alignment : no_powers_of_two) {
    int mark = 0;
    void* memory = &mark;
    EXPECT_EQ(posix_memalign(&memory, opaque(alignment), 100), EINVAL) << alignment;
    EXPECT_EQ(memory, &mark) << alignment;
  }
}

TEST(posix_memalign, of_an_alignment_below_a_pointer_is_einval) {
  for (const std::size_t alignment : {0U, 1U, 2U, 4U}) {
    void* memory = nullptr;
    EXPECT_EQ(posix_memalign(&memory, opaque(alignment), 100), EINVAL) << alignment;
  }
}

TEST(posix_memalign, of_more_than_there_is_is_enomem_and_leaves_the_result) {
  int mark = 0;
  for (const std::size_t alignment :
       {std::size_t{16}, std::size_t{4096}, std::size_t{1} << 30, std::size_t{1} << 62}) {
    for (const std::size_t size : too_large) {
      void* memory = &mark;
      EXPECT_EQ(posix_memalign(&memory, opaque(alignment), opaque(size)), ENOMEM)
          << size << " to " << alignment;
      EXPECT_EQ(memory, &mark);
    }
  }
  void* memory = &mark;
  EXPECT_EQ(posix_memalign(&memory, opaque(std::size_t{1} << 63), 1), ENOMEM);
  EXPECT_EQ(memory, &mark);
}

// Where memory is out, glibc sets errno too.
TEST(posix_memalign, says_by_its_result_alone_that_an_alignment_is_wrong) {
  void* memory = nullptr;
  errno = 4711;
  EXPECT_EQ(posix_memalign(&memory, opaque(std::size_t{3}), 100), EINVAL);
  EXPECT_EQ(errno, 4711);
  EXPECT_EQ(posix_memalign(&memory, 64, opaque(SIZE_MAX)), ENOMEM);
  EXPECT_TRUE(errno == 4711 || errno == ENOMEM) << errno;
}

TEST(aligned_alloc, aligns_every_size) {
  for (std::size_t alignment = 1; alignment <= std::size_t{4} << 20; alignment *= 2) {
    for (const std::size_t size : {0U, 1U, 100U, 512U, 5001U, 300001U}) {
      const block memory(aligned_alloc(alignment, opaque(std::size_t{size})));
      ASSERT_NE(memory, nullptr) << size << " aligned to " << alignment;
      EXPECT_TRUE(aligned(memory.get(), alignment)) << size << " aligned to " << alignment;
    }
  }
}

TEST(aligned_alloc, of_an_alignment_that_is_no_power_of_two_is_einval) {
  const auto error = [](std::size_t alignment) {
    return error_of([=] { return aligned_alloc(opaque(alignment), 100); });
  };
  for (const std::size_t alignment : no_powers_of_two) EXPECT_EQ(error(alignment), EINVAL) << alignment;
  EXPECT_EQ(error(0), EINVAL);
}

TEST(aligned_alloc, of_more_than_there_is_is_enomem) {
  for (const std::size_t size : too_large)
    EXPECT_EQ(error_of([=] { return aligned_alloc(opaque(std::size_t{64}), opaque(size)); }), ENOMEM) << size;
}

TEST(memalign, rounds_its_alignment_up) {
  HEAPLAB_NEED("memalign");
  for (const std::size_t alignment : {0U, 1U, 3U, 24U, 48U, 1000U, 5000U}) {
    std::size_t rounded = 1;
    while (rounded < alignment) rounded *= 2;
    const block memory(memalign(opaque(std::size_t{alignment}), 100));
    ASSERT_NE(memory, nullptr) << alignment;
    EXPECT_TRUE(aligned(memory.get(), rounded)) << alignment;
  }
}

TEST(memalign, of_an_alignment_that_cannot_be_rounded_up_is_einval) {
  HEAPLAB_NEED("memalign");
  EXPECT_EQ(error_of([] { return memalign(opaque(SIZE_MAX), 100); }), EINVAL);
}

TEST(memalign, of_an_alignment_that_nothing_has_is_enomem) {
  HEAPLAB_NEED("memalign");
  for (const std::size_t alignment : {std::size_t{1} << 63, (std::size_t{1} << 62) + 1, std::size_t{1} << 62})
    EXPECT_EQ(error_of([=] { return memalign(opaque(alignment), 100); }), ENOMEM) << alignment;
}

TEST(valloc, aligns_to_pages) {
  HEAPLAB_NEED("valloc");
  for (const std::size_t size : sizes) {
    const block memory(valloc(opaque(size)));
    ASSERT_NE(memory, nullptr) << size;
    EXPECT_TRUE(aligned(memory.get(), page_bytes())) << size;
  }
}

TEST(pvalloc, gives_whole_pages) {
  HEAPLAB_NEED("pvalloc", "malloc_usable_size");
  for (const std::size_t size : sizes) {
    const block memory(pvalloc(opaque(size)));
    ASSERT_NE(memory, nullptr) << size;
    EXPECT_TRUE(aligned(memory.get(), page_bytes())) << size;
    EXPECT_GE(malloc_usable_size(memory.get()), (size + page_bytes() - 1) / page_bytes() * page_bytes())
        << size;
  }
}

TEST(pvalloc, of_more_than_there_is_is_enomem) {
  HEAPLAB_NEED("pvalloc", "valloc");
  for (const std::size_t size : too_large) {
    EXPECT_EQ(error_of([=] { return pvalloc(opaque(size)); }), ENOMEM) << size;
    EXPECT_EQ(error_of([=] { return valloc(opaque(size)); }), ENOMEM) << size;
  }
}

// Aligned blocks are the weak spot of many allocators: from an address inside a block, free must find the
// block.
TEST(aligned, blocks_and_plain_blocks_may_be_freed_in_any_order) {
  std::vector<block> blocks;
  std::vector<std::size_t> lengths;
  for (unsigned i = 0; i < 6000; ++i) {
    const std::size_t size = 1 + i * 37 % 400;
    const std::size_t alignment = std::size_t{32} << (i % 8);
    blocks.emplace_back(i % 3 == 0 ? std::malloc(size) : aligned_alloc(alignment, size));
    lengths.push_back(size);
    ASSERT_NE(blocks.back(), nullptr);
    fill(blocks.back().get(), size, i);
    if (i % 2 == 1) {
      const std::size_t victim = i * std::size_t{7919} % blocks.size();
      if (blocks[victim]) {
        ASSERT_TRUE(holds(blocks[victim].get(), lengths[victim], static_cast<unsigned>(victim))) << victim;
        blocks[victim].reset();
      }
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i]) continue;
    EXPECT_TRUE(holds(blocks[i].get(), lengths[i], static_cast<unsigned>(i))) << i;
  }
}

// realloc copies, and a program may use, no byte behind the end of an aligned block.
TEST(aligned, usable_size_reaches_into_no_other_block) {
  HEAPLAB_NEED("memalign", "malloc_usable_size");
  struct extent {
    char* begin;
    std::size_t bytes;
  };
  std::vector<block> blocks;
  std::vector<extent> extents;
  for (unsigned i = 0; i < 3000; ++i) {
    blocks.emplace_back(memalign(std::size_t{16} << i % 9, 1 + i * 61 % 900));
    ASSERT_NE(blocks.back(), nullptr);
    extents.push_back({static_cast<char*>(blocks.back().get()), malloc_usable_size(blocks.back().get())});
  }
  std::sort(extents.begin(), extents.end(),
            [](const extent& a, const extent& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < extents.size(); ++i)
    ASSERT_LE(extents[i - 1].begin + extents[i - 1].bytes, extents[i].begin) << i;
}

TEST(aligned, large_blocks_are_freed) {
  // 200 blocks of 8 MiB aligned to 1 MiB: if they were not freed, they would be 1600 MiB of touched memory.
  for (int i = 0; i < 200; ++i) {
    const block memory(aligned_alloc(std::size_t{1} << 20, 8 << 20));
    ASSERT_NE(memory, nullptr);
    static_cast<char*>(memory.get())[0] = 1;
    static_cast<char*>(memory.get())[(8 << 20) - 1] = 1;
  }
}

}  // namespace
}  // namespace contract
