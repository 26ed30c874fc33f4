#include "allocators/scalloc/large/large.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

#include "allocators/scalloc/policy/variants.h"
#include "concurrent/sync.h"
#include "scalloc/growing_registry.h"
#include "scalloc/traits.h"

namespace heaplab::scalloc {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

constexpr config settings_tested = standard();
using traits_tested = test_traits<concurrent::std_sync, settings_tested>;
using blocks_tested = large_blocks<traits_tested>;

TEST(large, registry_agrees_with_a_map) {
  growing_registry<traits_tested> registry;
  std::map<char*, std::size_t> model;
  std::vector<std::size_t> moving;  // sizes
  std::srand(1);
  for (int step = 0; step < 100'000; ++step) {
    // Few addresses, a page apart, so that probe sequences meet.
    char* const block = reinterpret_cast<char*>(std::uintptr_t(1 + std::rand() % 3000) * 4096);
    if (model.contains(block)) {
      ASSERT_EQ(registry.bytes_of(block), model[block]);
      ASSERT_EQ(step % 2 == 0 ? registry.remove(block) : registry.begin_move(block), model[block]);
      if (step % 2 != 0) moving.push_back(model[block]);
      model.erase(block);
    } else if (!moving.empty()) {
      model[block] = moving.back();
      moving.pop_back();
      registry.end_move(block, model[block]);
    } else {
      ASSERT_EQ(registry.remove(block), 0U);
      ASSERT_TRUE(registry.add(block, std::size_t(step) + 1));
      model[block] = std::size_t(step) + 1;
    }
    ASSERT_EQ(registry.count(), model.size());
  }
  for (const auto& [block, bytes] : model) ASSERT_EQ(registry.bytes_of(block), bytes);
}

// Counts the bytes for which the rest of the heap was asked to give way.
struct traits_counted : traits_tested {
  static inline std::size_t asked;
  static void purge_for_growth(std::size_t bytes) { asked += bytes; }
};

TEST(large, blocks_ask_the_rest_of_the_heap_to_give_way) {
  large_blocks<traits_counted> tested{64 * mebibyte};
  void* block = tested.allocate(4 * mebibyte, 4096, true);
  EXPECT_EQ(traits_counted::asked, 4 * mebibyte);
  block = tested.reallocate(block, 6 * mebibyte);
  EXPECT_EQ(traits_counted::asked, 6 * mebibyte);
  block = tested.reallocate(block, 3 * mebibyte);
  tested.deallocate(block);
  tested.deallocate(tested.allocate(3 * mebibyte, 4096, true));
  EXPECT_EQ(traits_counted::asked, 6 * mebibyte) << "a retained block is no new memory";
}

TEST(large, blocks_are_aligned_zero_and_as_large_as_asked) {
  blocks_tested tested{0};
  for (const std::size_t alignment : {std::size_t{16}, std::size_t{4096}, 2 * mebibyte, 64 * mebibyte}) {
    auto* const block = static_cast<char*>(tested.allocate(3 * mebibyte + 1, alignment, true));
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(is_aligned(block, alignment));
    EXPECT_GE(tested.usable_size(block), 3 * mebibyte + 1);
    EXPECT_EQ(block[0], 0);
    EXPECT_EQ(block[tested.usable_size(block) - 1], 0);
    std::memset(block, 1, tested.usable_size(block));
    tested.deallocate(block);
  }
  EXPECT_EQ(tested.count(), 0U);
  EXPECT_EQ(tested.live_bytes(), 0U);
}

TEST(large, blocks_keep_their_contents_when_they_are_resized) {
  blocks_tested tested{0};
  auto* block = static_cast<char*>(tested.allocate(2 * mebibyte, 16, false));
  std::memset(block, 7, 2 * mebibyte);
  block = static_cast<char*>(tested.reallocate(block, 50 * mebibyte));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block[0], 7);
  EXPECT_EQ(block[2 * mebibyte - 1], 7);
  EXPECT_EQ(block[2 * mebibyte], 0);
  block = static_cast<char*>(tested.reallocate(block, mebibyte));
  EXPECT_EQ(tested.usable_size(block), mebibyte);
  EXPECT_EQ(block[mebibyte - 1], 7);
  EXPECT_EQ(tested.count(), 1U);
  EXPECT_EQ(tested.live_bytes(), mebibyte);
  tested.deallocate(block);
}

TEST(large, blocks_are_copied_where_their_pages_differ_in_kind) {
  blocks_tested tested{64 * mebibyte};
  for (const std::size_t size : {2 * mebibyte, 9 * mebibyte}) {
    auto* const block = static_cast<char*>(tested.allocate(size, 16, false));
    std::memset(block, 7, size);
    ASSERT_EQ(mprotect(block + mebibyte, 4096, PROT_READ), 0);
    auto* const moved = static_cast<char*>(tested.reallocate(block, 2 * size));
    ASSERT_NE(moved, nullptr);
    EXPECT_EQ(std::count(moved, moved + size, 7), std::ptrdiff_t(size));
    EXPECT_EQ(tested.count(), 1U);
    EXPECT_EQ(tested.live_bytes(), 2 * size);
    EXPECT_EQ(tested.retained_bytes(), 0U) << "a page that cannot be written is kept for others";
    std::memset(moved, 1, 2 * size);
    tested.deallocate(moved);
    tested.trim(0);
  }
}

TEST(large, blocks_that_cannot_grow_hold_no_addresses_for_it) {
  blocks_tested tested{0};
  const auto mapped_pages = [] {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages;
  };
  auto* const block = static_cast<char*>(tested.allocate(9 * mebibyte, 16, false));
  ASSERT_EQ(mprotect(block + mebibyte, 4096, PROT_READ), 0);
  const std::size_t before = mapped_pages();
  constexpr std::size_t too_much = std::size_t{1} << 46;
  for (int step = 0; step < 3; ++step) EXPECT_EQ(tested.reallocate(block, too_much), nullptr);
  EXPECT_LT(mapped_pages(), before + mebibyte / 4096);
  EXPECT_EQ(tested.usable_size(block), 9 * mebibyte);
  mprotect(block + mebibyte, 4096, PROT_READ | PROT_WRITE);
  for (int step = 0; step < 3; ++step) EXPECT_EQ(tested.reallocate(block, too_much), nullptr);
  EXPECT_LT(mapped_pages(), before + mebibyte / 4096);
  tested.deallocate(block);
}

TEST(large, blocks_reuse_what_was_freed) {
  blocks_tested tested{8 * mebibyte};
  void* const first = tested.allocate(4 * mebibyte, 16, false);
  std::memset(first, 1, 4 * mebibyte);
  tested.deallocate(first);
  EXPECT_EQ(tested.retained_bytes(), 4 * mebibyte);
  auto* const again = static_cast<char*>(tested.allocate(4 * mebibyte - 5000, 16, true));
  EXPECT_EQ(again, first);
  EXPECT_EQ(again[4 * mebibyte - 5001], 0) << "zeroed on demand";
  EXPECT_EQ(tested.usable_size(again), 4 * mebibyte) << "a rest this small is not kept apart";
  EXPECT_EQ(tested.retained_bytes(), 0U);
  tested.deallocate(again);
}

TEST(large, blocks_leave_the_rest_of_what_they_reuse) {
  blocks_tested tested{16 * mebibyte};
  void* const large = tested.allocate(5 * mebibyte, 16, false);
  void* const fitting = tested.allocate(3 * mebibyte, 16, false);
  tested.deallocate(fitting);
  tested.deallocate(large);
  EXPECT_EQ(tested.allocate(2 * mebibyte, 16, false), fitting) << "the smallest that is large enough";
  EXPECT_EQ(tested.retained_bytes(), 6 * mebibyte);
  auto* const first = static_cast<char*>(tested.allocate(3 * mebibyte, 16, false));
  auto* const rest = static_cast<char*>(tested.allocate(2 * mebibyte, 16, false));
  EXPECT_EQ(first, large);
  EXPECT_EQ(rest, first + 3 * mebibyte);
  EXPECT_EQ(tested.retained_bytes(), mebibyte);
  std::memset(first, 1, 3 * mebibyte);
  std::memset(rest, 2, 2 * mebibyte);
  EXPECT_EQ(first[3 * mebibyte - 1], 1);
  auto* const moved = static_cast<char*>(tested.reallocate(first, 20 * mebibyte));
  ASSERT_NE(moved, nullptr);
  EXPECT_EQ(moved[3 * mebibyte - 1], 1);
  EXPECT_EQ(rest[0], 2);
  tested.deallocate(moved);
  tested.deallocate(rest);
  EXPECT_EQ(rest[0], 2) << "kept";
}

TEST(large, blocks_grow_what_they_reuse) {
  blocks_tested tested{16 * mebibyte};
  auto* const small = static_cast<char*>(tested.allocate(2 * mebibyte, 16, false));
  auto* const larger = static_cast<char*>(tested.allocate(3 * mebibyte, 16, false));
  std::memset(small, 1, 2 * mebibyte);
  std::memset(larger, 3, 3 * mebibyte);
  tested.deallocate(larger);
  tested.deallocate(small);
  auto* const grown = static_cast<char*>(tested.allocate(12 * mebibyte, 16, false));
  ASSERT_NE(grown, nullptr);
  EXPECT_EQ(grown[3 * mebibyte - 1], 3) << "the largest of those that are too small";
  EXPECT_EQ(grown[3 * mebibyte], 0);
  EXPECT_EQ(tested.retained_bytes(), 2 * mebibyte);
  auto* const zeroed = static_cast<char*>(tested.allocate(4 * mebibyte, 16, true));
  for (std::size_t byte = 0; byte < 4 * mebibyte; byte += 4096) ASSERT_EQ(zeroed[byte], 0);
  auto* const aligned = static_cast<char*>(tested.allocate(4 * mebibyte, 2 * mebibyte, false));
  EXPECT_TRUE(is_aligned(aligned, 2 * mebibyte));
  for (void* const block : {grown, zeroed, aligned}) tested.deallocate(block);
}

TEST(large, blocks_retain_no_more_than_the_bound) {
  blocks_tested tested{8 * mebibyte};
  std::vector<void*> blocks;
  for (int step = 0; step < 10; ++step) blocks.push_back(tested.allocate(3 * mebibyte, 16, false));
  blocks.push_back(tested.allocate(9 * mebibyte, 16, false));
  for (void* const block : blocks) {
    tested.deallocate(block);
    EXPECT_LE(tested.retained_bytes(), 8 * mebibyte);
  }
  EXPECT_EQ(tested.retained_bytes(), 6 * mebibyte);
  EXPECT_TRUE(tested.trim(4 * mebibyte));
  EXPECT_EQ(tested.retained_bytes(), 3 * mebibyte) << "up to the pad";
  EXPECT_FALSE(tested.trim(4 * mebibyte));
  EXPECT_TRUE(tested.trim(0));
  EXPECT_EQ(tested.retained_bytes(), 0U);
  EXPECT_FALSE(tested.trim(0));
}

TEST(large, blocks_retain_no_more_than_the_peak_lately) {
  blocks_tested tested{64 * mebibyte};
  void* const freed = tested.allocate(2 * mebibyte, 16, false);
  void* const other = tested.allocate(2 * mebibyte, 16, false);
  tested.deallocate(freed);
  EXPECT_EQ(tested.retained_bytes(), 2 * mebibyte);
  // Not to be had of what is kept, so that live is at its peak again.
  void* const aligned = tested.allocate(2 * mebibyte, 64 * mebibyte, false);
  tested.deallocate(aligned);
  EXPECT_EQ(tested.retained_bytes(), 2 * mebibyte) << "the newest alone";
  tested.deallocate(other);
  EXPECT_EQ(tested.retained_bytes(), 4 * mebibyte);
}

// A block, grown, whose pages are all written or only the first and the last.
char* filled(blocks_tested& tested, std::size_t bytes, std::size_t stride) {
  auto* const block = static_cast<char*>(tested.allocate(bytes, 16, false));
  for (std::size_t at = 0; at < bytes; at += stride) block[at] = 1;
  block[bytes - 1] = 1;
  return block;
}

TEST(large, blocks_get_huge_pages_when_one_was_written_throughout) {
  constexpr std::size_t size = 9 * mebibyte;
  blocks_tested never{64 * mebibyte}, allowed{64 * mebibyte};
  allowed.allow_huge_pages();
  never.deallocate(filled(never, size, 4096));
  allowed.deallocate(filled(allowed, size, size));
  for (blocks_tested* const each : {&never, &allowed}) {
    void* const block = each->allocate(size, 16, false);
    EXPECT_EQ(each->usable_size(block), size) << "no page more";
    each->deallocate(block);
  }
  allowed.deallocate(filled(allowed, size, 4096));
  // What was kept grows; what is new begins so.
  char* const grown = filled(allowed, 12 * mebibyte + 1, 4096);
  char* const fresh = filled(allowed, size, 4096);
  for (char* const block : {grown, fresh}) {
    EXPECT_TRUE(is_aligned(block, os_pages::huge_page_bytes));
    EXPECT_EQ(allowed.usable_size(block) % os_pages::huge_page_bytes, 0U) << "whole huge pages";
  }
  auto* const moved = static_cast<char*>(allowed.reallocate(grown, 100 * mebibyte));
  EXPECT_TRUE(is_aligned(moved, os_pages::huge_page_bytes));
  EXPECT_EQ(moved[12 * mebibyte], 1);
  EXPECT_EQ(moved[14 * mebibyte], 0);
  allowed.deallocate(moved);
  allowed.deallocate(fresh);
}

TEST(large, blocks_refuse_what_is_no_live_block) {
  blocks_tested tested{8 * mebibyte};
  auto* const block = static_cast<char*>(tested.allocate(2 * mebibyte, 16, false));
  EXPECT_DEATH(tested.deallocate(block + 4096), "heaplab: not a live block: 0x");
  EXPECT_DEATH(tested.reallocate(block + 64, 5 * mebibyte), "heaplab: not a live block: 0x");
  EXPECT_DEATH((tested.deallocate(block), tested.deallocate(block)), "heaplab: not a live block: 0x");
}

blocks_tested* refusing = nullptr;
void* held = nullptr;

TEST(large, blocks_refuse_without_their_lock) {
  static blocks_tested tested{8 * mebibyte};
  refusing = &tested;
  auto* const block = static_cast<char*>(held = tested.allocate(2 * mebibyte, 16, false));
  const auto with_handler = [](auto wrong) {
    std::signal(SIGABRT, [](int) { std::_Exit(refusing->usable_size(held) > 0 ? 11 : 12); });
    alarm(20);
    wrong();
  };
  const auto left = testing::ExitedWithCode(11);
  EXPECT_EXIT(with_handler([=] { tested.deallocate(block + 4096); }), left, "");
  EXPECT_EXIT(with_handler([=] { tested.reallocate(block + 4096, mebibyte); }), left, "");
  EXPECT_EXIT(with_handler([=] { tested.usable_size(block + 4096); }), left, "");
}

}  // namespace
}  // namespace heaplab::scalloc
