// realloc and reallocarray.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "check/contract/api.h"

namespace contract {
namespace {

TEST(realloc, of_null_is_malloc) {
  for (const std::size_t size : sizes) {
    const block memory(std::realloc(opaque<void*>(nullptr), size));
    ASSERT_NE(memory, nullptr) << size;
    fill(memory.get(), size, 5);
    EXPECT_TRUE(holds(memory.get(), size, 5)) << size;
  }
}

TEST(realloc, keeps_contents_from_every_size_to_every_size) {
  // Pairs of large blocks test nothing new and take seconds to fill.
  for (const std::size_t before : sizes) {
    for (const std::size_t after : sizes) {
      if (after == 0 || before + after > 700000) continue;
      void* const memory = std::malloc(before);
      ASSERT_NE(memory, nullptr);
      fill(memory, std::min(before, after), 3);
      const block moved(std::realloc(memory, after));
      ASSERT_NE(moved, nullptr) << before << " to " << after;
      EXPECT_TRUE(aligned_for_its_size(moved.get(), after)) << before << " to " << after;
      EXPECT_TRUE(holds(moved.get(), std::min(before, after), 3)) << before << " to " << after;
      EXPECT_GE(usable_of(moved.get(), after), after);
      fill(moved.get(), after, 4);
    }
  }
}

TEST(realloc, keeps_contents_of_large_blocks) {
  void* memory = std::malloc(3 << 20);
  ASSERT_NE(memory, nullptr);
  fill(memory, 3 << 20, 9);
  for (const std::size_t size : {9U << 20, 40U << 20, 64U << 20, 5U << 20, 3U << 20}) {
    void* const moved = std::realloc(memory, size);
    ASSERT_NE(moved, nullptr);
    EXPECT_TRUE(holds(moved, 3 << 20, 9)) << size;
    static_cast<char*>(moved)[size - 1] = 1;
    memory = moved;
  }
  std::free(memory);
}

TEST(realloc, to_zero_frees_and_gives_null) {
  for (const std::size_t size : sizes)
    EXPECT_EQ(std::realloc(std::malloc(size), opaque(std::size_t{0})), nullptr);
}

TEST(realloc, to_more_than_there_is_is_enomem_and_keeps_the_block) {
  for (const std::size_t before : {std::size_t{100}, std::size_t{5000}, std::size_t{3} << 20}) {
    const block memory(std::malloc(before));
    fill(memory.get(), before, 2);
    const auto error = [&](std::size_t after) {
      return error_of([&] { return std::realloc(opaque(memory.get()), opaque(after)); });
    };
    for (const std::size_t after : too_large) EXPECT_EQ(error(after), ENOMEM) << before << " to " << after;
    EXPECT_EQ(error(std::size_t{PTRDIFF_MAX} - 4096), ENOMEM) << before;
    EXPECT_TRUE(holds(memory.get(), before, 2)) << before;
  }
}

TEST(realloc, of_an_aligned_block_keeps_its_contents) {
  for (const std::size_t alignment : {32U, 256U, 4096U, 65536U, 4U << 20}) {
    for (const std::size_t before : {1U, 100U, 5000U, 300000U, 3U << 20}) {
      for (const std::size_t after : {1U, 50U, 200U, 8000U, 700000U, 5U << 20}) {
        void* const memory = aligned_alloc(alignment, before);
        ASSERT_NE(memory, nullptr);
        ASSERT_GE(usable_of(memory, before), before);
        fill(memory, std::min(before, after), 6);
        const block moved(std::realloc(memory, after));
        ASSERT_NE(moved, nullptr);
        EXPECT_TRUE(holds(moved.get(), std::min(before, after), 6))
            << before << " aligned to " << alignment << ", to " << after;
        EXPECT_GE(usable_of(moved.get(), after), after);
      }
    }
  }
}

// System calls on a page of a block, after which the kernel keeps the block as several mappings.
struct treatment {
  const char* name;
  bool (*apply)(void* page, std::size_t bytes);
};

constexpr treatment treatments[] = {
    {"madvise, huge pages",
     [](void* page, std::size_t bytes) { return madvise(page, bytes, MADV_HUGEPAGE) == 0; }},
    {"madvise, not to be forked",
     [](void* page, std::size_t bytes) { return madvise(page, bytes, MADV_DONTFORK) == 0; }},
    {"mlock", [](void* page, std::size_t bytes) { return mlock(page, bytes) == 0; }},
    {"mbind",
     [](void* page, std::size_t bytes) {
       constexpr int preferred = 1;
       const unsigned long node_0 = 1;
       return syscall(SYS_mbind, page, bytes, preferred, &node_0, 8 * sizeof node_0, 0) == 0;
     }},
};

TEST(realloc, of_a_block_whose_pages_differ_in_kind_keeps_its_contents) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const treatment& kind : treatments) {
    for (const std::size_t before : {std::size_t{8} << 20, std::size_t{80} << 20}) {
      for (const std::size_t after : {2 * before + 4096, before / 4}) {
        void* const memory = std::malloc(before);
        ASSERT_NE(memory, nullptr);
        const std::size_t kept = std::min(before, after);
        fill(memory, 5000, 6);
        fill(static_cast<char*>(memory) + kept - 5000, 5000, 7);
        const auto middle = reinterpret_cast<std::uintptr_t>(memory) + kept / 2;
        // If the kernel or a limit refuses the call, the test goes on with a plain block.
        kind.apply(reinterpret_cast<void*>(middle / page * page), 4 * page);
        void* const moved = std::realloc(memory, after);
        ASSERT_NE(moved, nullptr) << kind.name << ", " << before << " to " << after;
        EXPECT_TRUE(holds(moved, 5000, 6)) << kind.name;
        EXPECT_TRUE(holds(static_cast<char*>(moved) + kept - 5000, 5000, 7)) << kind.name;
        std::memset(moved, 1, after);
        munlock(moved, after);
        std::free(moved);
      }
    }
  }
}

TEST(reallocarray, multiplies_its_arguments) {
  const block memory(reallocarray(nullptr, opaque(std::size_t{100}), 30));
  ASSERT_NE(memory, nullptr);
  EXPECT_GE(usable_of(memory.get(), 3000), 3000U);
}

TEST(reallocarray, of_a_product_that_overflows_is_enomem_and_keeps_the_block) {
  const block memory(std::malloc(100));
  fill(memory.get(), 100, 8);
  const std::size_t factors[][2] = {
      {SIZE_MAX, 2}, {SIZE_MAX / 2 + 2, 2}, {std::size_t{1} << 32, std::size_t{1} << 32}, {1, SIZE_MAX}};
  for (const auto& pair : factors)
    EXPECT_EQ(error_of([&] { return reallocarray(opaque(memory.get()), opaque(pair[0]), opaque(pair[1])); }),
              ENOMEM)
        << pair[0] << " x " << pair[1];
  EXPECT_TRUE(holds(memory.get(), 100, 8));
}

}  // namespace
}  // namespace contract
