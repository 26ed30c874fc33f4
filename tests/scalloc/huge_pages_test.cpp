// Which large blocks and which spans ask for huge pages.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "allocators/scalloc/arena/arena.h"
#include "allocators/scalloc/large/large.h"
#include "allocators/scalloc/policy/variants.h"
#include "base/os_pages.h"
#include "concurrent/sync.h"
#include "scalloc/traits.h"

namespace heaplab::scalloc {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

constexpr config settings_tested = standard();

// Notes for how many bytes huge pages were asked or forbidden, and how often blocks in use, pages of freed
// blocks, and marks were looked at.
struct huge_page_log : system_platform {
  static inline std::size_t asked, forbidden;
  static inline std::int64_t now;
  static inline unsigned looks, looks_at_pages, looks_for_marks;

  static std::int64_t milliseconds() { return now; }
  static bool advise_huge(void*, std::size_t bytes, bool wanted) {
    (wanted ? asked : forbidden) += bytes;
    return true;
  }
  static bool holds_word(const void* address) {
    ++looks;
    return os_pages::holds_word(address);
  }
  static bool holds_data(const void* page) {
    ++looks_at_pages;
    return os_pages::holds_data(page);
  }
  static bool differs_from(const std::uint32_t* word, std::uint32_t value) {
    ++looks_for_marks;
    return os_pages::differs_from(word, value);
  }
};

class huge_pages_of_large_blocks : public testing::Test {
protected:
  using heap_traits = test_traits<concurrent::std_sync, settings_tested, huge_page_log>;
  using heap = large_blocks<heap_traits>;

  explicit huge_pages_of_large_blocks(std::size_t retained = 0) : tested_(retained) {
    huge_page_log::asked = huge_page_log::forbidden = 0;
    tested_.allow_huge_pages();
  }

  char* fill(char* block, std::size_t bytes) {
    std::memset(block, 1, bytes);
    return block;
  }
  char* allocate(std::size_t bytes) { return static_cast<char*>(tested_.allocate(bytes, 16, false)); }
  // Bytes for which the next block of a size asks for huge pages.
  std::size_t asked_by_the_next(std::size_t bytes) {
    const std::size_t before = huge_page_log::asked;
    tested_.deallocate(allocate(bytes));
    return huge_page_log::asked - before;
  }

  heap tested_;
};

TEST_F(huge_pages_of_large_blocks, follow_from_blocks_of_about_the_size) {
  tested_.deallocate(fill(allocate(5 * mebibyte), 5 * mebibyte));
  EXPECT_EQ(asked_by_the_next(128 * mebibyte), 0U);
  EXPECT_EQ(asked_by_the_next(7 * mebibyte), 8 * mebibyte) << "whole huge pages";
}

TEST_F(huge_pages_of_large_blocks, cost_one_look_at_a_block_that_was_never_written) {
  char* const block = allocate(16 * mebibyte);
  huge_page_log::looks_at_pages = 0;
  tested_.deallocate(block);
  EXPECT_EQ(huge_page_log::looks_at_pages, 1U);
  tested_.deallocate(fill(allocate(16 * mebibyte), 16 * mebibyte));
  EXPECT_EQ(huge_page_log::looks_at_pages, 1U + large_mappings<heap_traits>::samples);
}

TEST_F(huge_pages_of_large_blocks, follow_from_the_newest_block_in_use) {
  char* const first = fill(allocate(8 * mebibyte), 8 * mebibyte);
  EXPECT_EQ(asked_by_the_next(32 * mebibyte), 0U) << "another size";
  EXPECT_EQ(asked_by_the_next(7 * mebibyte), 8 * mebibyte);
  tested_.deallocate(first);
}

TEST_F(huge_pages_of_large_blocks, follow_from_no_block_in_use_that_was_left_sparse) {
  for (const std::size_t filled : {std::size_t{1}, 3 * mebibyte}) {
    char* const first = fill(allocate(8 * mebibyte), filled);
    EXPECT_EQ(asked_by_the_next(8 * mebibyte), 0U) << filled;
    tested_.deallocate(first);
    tested_.deallocate(fill(allocate(8 * mebibyte), 1));
  }
  char* const first = allocate(8 * mebibyte);
  for (std::size_t at = 0; at < 8 * mebibyte; at += mebibyte / 16) first[at] = 1;
  EXPECT_EQ(asked_by_the_next(8 * mebibyte), 0U) << "data at even distances";
  tested_.deallocate(first);
}

// Contents cannot tell these from blocks that were never written.
TEST_F(huge_pages_of_large_blocks, follow_from_blocks_that_were_filled_with_zeros) {
  const auto zeros = [&](std::size_t bytes) {
    return static_cast<char*>(std::memset(allocate(bytes), 0, bytes));
  };
  tested_.deallocate(zeros(8 * mebibyte));
  EXPECT_EQ(asked_by_the_next(6 * mebibyte), 6 * mebibyte);
  EXPECT_EQ(asked_by_the_next(32 * mebibyte), 0U) << "another size";
}

TEST_F(huge_pages_of_large_blocks, follow_from_a_block_in_use_that_was_filled_with_zeros) {
  char* const kept = static_cast<char*>(std::memset(allocate(8 * mebibyte), 0, 8 * mebibyte));
  EXPECT_EQ(asked_by_the_next(8 * mebibyte), 8 * mebibyte);
  tested_.deallocate(kept);
}

// The pages of a block, 0 or 1 each, as the system has them.
std::size_t pages_present(char* block, std::size_t bytes) {
  std::vector<unsigned char> present(bytes / os_pages::page_bytes());
  EXPECT_EQ(mincore(block, bytes, present.data()), 0);
  return static_cast<std::size_t>(
      std::count_if(present.begin(), present.end(), [](auto state) { return state & 1; }));
}

TEST_F(huge_pages_of_large_blocks, follow_from_no_blocks_that_were_never_written) {
  std::vector<char*> kept;
  std::size_t pages = 0;
  for (unsigned times = 0; times < 20; ++times) {
    EXPECT_EQ(asked_by_the_next(8 * mebibyte), 0U);
    kept.push_back(allocate(8 * mebibyte));
    pages += pages_present(kept.back(), 8 * mebibyte);
  }
  EXPECT_EQ(huge_page_log::asked, 0U);
  EXPECT_LE(pages, 4U) << "one block of the size has marks";
  for (char* const block : kept) tested_.deallocate(block);
}

// Where the marked block was, there may be pages by now that hold anything.
TEST_F(huge_pages_of_large_blocks, follow_from_no_marked_block_that_may_have_moved) {
  auto* const marked = allocate(5 * mebibyte);
  auto* const moved = static_cast<char*>(tested_.reallocate(marked, 8 * mebibyte));
  const unsigned before = huge_page_log::looks_for_marks;
  auto* const next = allocate(8 * mebibyte);
  EXPECT_EQ(huge_page_log::looks_for_marks, before);
  tested_.deallocate(next);
  tested_.deallocate(moved);
}

TEST_F(huge_pages_of_large_blocks, leave_cleared_blocks_clear) {
  tested_.deallocate(allocate(8 * mebibyte));
  auto* const cleared = static_cast<char*>(tested_.allocate(8 * mebibyte, 16, true));
  EXPECT_TRUE(os_pages::is_zero(cleared, 8 * mebibyte));
  tested_.deallocate(cleared);
}

// Where the block was, there may be pages by now that nobody should read.
TEST_F(huge_pages_of_large_blocks, follow_from_no_block_that_was_moved_or_freed) {
  for (const bool is_freed : {false, true}) {
    auto* block = allocate(8 * mebibyte);
    if (is_freed) {
      tested_.deallocate(block);
    } else {
      block = static_cast<char*>(tested_.reallocate(block, 40 * mebibyte));
    }
    const unsigned before = huge_page_log::looks;
    auto* const next = allocate(8 * mebibyte);
    EXPECT_EQ(huge_page_log::looks, before) << is_freed;
    tested_.deallocate(next);
    if (!is_freed) tested_.deallocate(block);
  }
}

// The newest block is given back while another thread looks at it. A plain read would end the process.
TEST_F(huge_pages_of_large_blocks, follow_from_blocks_that_others_free_meanwhile) {
  struct quiet_log : system_platform {
    static bool advise_huge(void*, std::size_t, bool) { return true; }
  };
  large_blocks<test_traits<concurrent::std_sync, settings_tested, quiet_log>> tested{0};
  tested.allow_huge_pages();
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 2; ++thread)
    threads.emplace_back([&tested] {
      for (unsigned times = 0; times < 1000; ++times) {
        auto* const block = static_cast<char*>(tested.allocate(8 * mebibyte, 16, false));
        for (std::size_t at = 0; at < mebibyte; at += 4096) block[at] = 1;
        tested.deallocate(block);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tested.live_bytes(), 0U);
}

TEST_F(huge_pages_of_large_blocks, end_with_a_block_that_was_left_sparse) {
  tested_.deallocate(fill(allocate(8 * mebibyte), 8 * mebibyte));
  tested_.deallocate(fill(allocate(32 * mebibyte), 32 * mebibyte));
  tested_.deallocate(fill(allocate(8 * mebibyte), 1));
  EXPECT_EQ(asked_by_the_next(8 * mebibyte), 0U);
  EXPECT_EQ(asked_by_the_next(32 * mebibyte), 32 * mebibyte) << "other sizes";
}

TEST_F(huge_pages_of_large_blocks, outlast_some_that_look_sparse) {
  for (int times = 0; times < 10; ++times) tested_.deallocate(fill(allocate(8 * mebibyte), 8 * mebibyte));
  for (int times = 0; times < 7; ++times) {
    EXPECT_EQ(asked_by_the_next(8 * mebibyte), 8 * mebibyte);
    tested_.deallocate(fill(allocate(8 * mebibyte), 1));
  }
  EXPECT_EQ(asked_by_the_next(8 * mebibyte), 0U);
}

TEST_F(huge_pages_of_large_blocks, outlast_blocks_that_were_never_written) {
  tested_.deallocate(fill(allocate(8 * mebibyte), 8 * mebibyte));
  for (int times = 0; times < 3; ++times) EXPECT_EQ(asked_by_the_next(8 * mebibyte), 8 * mebibyte);
}

TEST_F(huge_pages_of_large_blocks, follow_from_blocks_that_grew_through_the_size) {
  char* block = fill(allocate(4 * mebibyte), 4 * mebibyte);
  for (std::size_t size = 8 * mebibyte; size <= 64 * mebibyte; size *= 2)
    block = fill(static_cast<char*>(tested_.reallocate(block, size)), size);
  EXPECT_EQ(huge_page_log::asked, 0U) << "the first time nothing is known";
  tested_.deallocate(block);
  for (std::size_t size = 4 * mebibyte; size <= 64 * mebibyte; size *= 2)
    EXPECT_EQ(asked_by_the_next(size), size);
}

class huge_pages_of_retained_blocks : public huge_pages_of_large_blocks {
protected:
  huge_pages_of_retained_blocks() : huge_pages_of_large_blocks(64 * mebibyte) {}
};

TEST_F(huge_pages_of_retained_blocks, are_not_inherited_by_a_block_made_of_a_smaller_one) {
  tested_.deallocate(fill(allocate(4 * mebibyte), 4 * mebibyte));
  char* const first = allocate(4 * mebibyte);
  char* const of_huge_pages = fill(allocate(4 * mebibyte), 4 * mebibyte);
  ASSERT_EQ(huge_page_log::asked, 4 * mebibyte);
  tested_.deallocate(of_huge_pages);
  ASSERT_EQ(tested_.retained_bytes(), 4 * mebibyte);
  huge_page_log::asked = 0;
  char* const grown = allocate(128 * mebibyte);
  EXPECT_EQ(tested_.retained_bytes(), 0U);
  EXPECT_EQ(huge_page_log::asked, 0U);
  EXPECT_EQ(huge_page_log::forbidden, 128 * mebibyte) << "of the whole block: one mapping of the kernel's";
  tested_.deallocate(grown);
  tested_.deallocate(first);
}

// The fine zone grows by parts of 4 MiB, each of which asks for huge pages or not; up to 16 MiB where it
// grows fast.
constexpr config small_parts = [] {
  config result = standard();
  result.arena_bytes = 256 * mib;
  result.fast_huge_zone_bytes = result.huge_part_bytes = 4 * mib;
  result.huge_zone_bytes = 16 * mib;
  result.huge_part_divisor = unlimited;
  return result;
}();

class huge_pages_of_spans : public testing::Test {
protected:
  using zone = arena<test_traits<concurrent::std_sync, small_parts, huge_page_log>>;

  huge_pages_of_spans() {
    huge_page_log::now = 0;
    EXPECT_TRUE(tested_.open(small_parts.arena_bytes, huge_page_policy::grown));
  }
  ~huge_pages_of_spans() override { tested_.close(); }

  // Carves spans of so many bytes, a part in so many milliseconds, and uses a share of each. Returns for how
  // many bytes huge pages were asked.
  std::size_t asked_while_growing(std::size_t bytes, std::size_t percent, std::int64_t milliseconds = 0) {
    huge_page_log::asked = 0;
    for (std::size_t done = 0; done < bytes; done += small_parts.fine_span_bytes) {
      if (done % small_parts.huge_part_bytes == 0) huge_page_log::now += milliseconds;
      tested_.carve(true, 0)->set_resident_bytes(
          static_cast<std::uint32_t>(small_parts.fine_span_bytes * percent / 100));
    }
    return huge_page_log::asked;
  }

  zone tested_;
};

TEST_F(huge_pages_of_spans, follow_from_dense_spans) {
  EXPECT_EQ(asked_while_growing(4 * mib, 100), 0U) << "a small zone";
  EXPECT_EQ(asked_while_growing(8 * mib, 75), 8 * mib);
}

TEST_F(huge_pages_of_spans, of_a_small_zone_follow_from_fast_growth) {
  constexpr std::int64_t most = small_parts.fast_part_milliseconds;
  EXPECT_EQ(asked_while_growing(4 * mib, 100), 0U);
  EXPECT_EQ(asked_while_growing(4 * mib, 100, most), 4 * mib);
  EXPECT_EQ(asked_while_growing(4 * mib, 100, most + 1), 0U);
  EXPECT_EQ(asked_while_growing(4 * mib, 100, most), 4 * mib);
  EXPECT_EQ(asked_while_growing(4 * mib, 100, most + 1), 4 * mib) << "no small zone any more";
}

TEST_F(huge_pages_of_spans, do_not_follow_from_sparse_spans) {
  EXPECT_EQ(asked_while_growing(20 * mib, 60), 0U);
}

TEST_F(huge_pages_of_spans, end_and_begin_with_the_part_before) {
  EXPECT_EQ(asked_while_growing(8 * mib, 100), 4 * mib);
  EXPECT_EQ(asked_while_growing(4 * mib, 30), 4 * mib) << "the part before is dense";
  EXPECT_EQ(asked_while_growing(4 * mib, 100), 0U);
  EXPECT_EQ(asked_while_growing(4 * mib, 30), 4 * mib);
}

}  // namespace
}  // namespace heaplab::scalloc
