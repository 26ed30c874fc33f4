// Large blocks where the system refuses a call, where time passes, and where a fault is planted.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "allocators/scalloc/large/large.h"
#include "allocators/scalloc/policy/variants.h"
#include "concurrent/sync.h"
#include "scalloc/growing_registry.h"
#include "scalloc/traits.h"
#include "support/fake_platform.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config knobs = standard();
using traits = test_traits<concurrent::std_sync, knobs, fake_platform>;
using blocks = large_blocks<traits>;

class large_refusals_test : public ::testing::Test {
protected:
  large_refusals_test() { fake_platform::reset(); }
  ~large_refusals_test() override { fake_platform::reset(); }

  char* allocate(std::size_t bytes, bool zeroed = false) {
    return static_cast<char*>(tested_.allocate(bytes, 16, zeroed));
  }
  char* allocate_filled(std::size_t bytes) {
    char* const block = allocate(bytes);
    std::memset(block, 7, bytes);
    return block;
  }

  blocks tested_{64 * mib};
};

TEST_F(large_refusals_test, no_pages_is_null) {
  fake_platform::refused_allocations = 1;
  EXPECT_EQ(allocate(2 * mib), nullptr);
  EXPECT_EQ(tested_.live_bytes(), 0U);
  EXPECT_TRUE(tested_.is_valid());
}

TEST_F(large_refusals_test, no_pages_for_the_registry_is_null_and_the_block_goes_back) {
  void* const place = os_pages::allocate(2 * mib, os_pages::huge_page_bytes);
  fake_platform::planted = place;
  // The first block is served; the second allocation would be the registry's first table.
  struct refusing_second : fake_platform {
    static void* allocate(std::size_t bytes, std::size_t alignment) {
      return planted == nullptr ? nullptr : fake_platform::allocate(bytes, alignment);
    }
  };
  large_blocks<test_traits<concurrent::std_sync, knobs, refusing_second>> tested{0};
  EXPECT_EQ(tested.allocate(2 * mib, 16, false), nullptr);
  EXPECT_EQ(fake_platform::unmaps, 1U);
  EXPECT_EQ(tested.count(), 0U);
  EXPECT_EQ(tested.live_bytes(), 0U);
}

// Refuses a table. Another thread gets one meanwhile.
struct one_for_another : fake_platform {
  static inline std::function<void()> meanwhile;
  static void* allocate(std::size_t bytes, std::size_t alignment) {
    const auto call = bytes < 2 * mib ? std::exchange(meanwhile, nullptr) : nullptr;
    return call ? (call(), nullptr) : fake_platform::allocate(bytes, alignment);
  }
};

TEST_F(large_refusals_test, a_table_that_another_thread_had_serves_where_one_is_refused) {
  large_blocks<test_traits<concurrent::std_sync, knobs, one_for_another>> tested{0};
  void* theirs = nullptr;
  one_for_another::meanwhile = [&] { theirs = tested.allocate(3 * mib, 16, false); };
  void* const ours = tested.allocate(2 * mib, 16, false);
  EXPECT_EQ(tested.count(), 2U);
  EXPECT_TRUE(tested.is_valid());
  tested.deallocate(ours);
  tested.deallocate(theirs);
}

TEST_F(large_refusals_test, a_block_that_cannot_be_resized_is_copied) {
  for (const std::size_t bytes : {2 * mib, 8 * mib}) {
    char* const block = allocate_filled(bytes);
    fake_platform::refused_remaps = 1;
    auto* const moved = static_cast<char*>(tested_.reallocate(block, 2 * bytes));
    ASSERT_NE(moved, nullptr);
    EXPECT_EQ(moved[0], 7);
    EXPECT_EQ(moved[bytes - 1], 7);
    EXPECT_EQ(tested_.live_bytes(), 2 * bytes);
    EXPECT_TRUE(tested_.is_valid());
    tested_.deallocate(moved);
    tested_.trim(0);
  }
}

TEST_F(large_refusals_test, a_block_that_can_be_neither_resized_nor_copied_stays) {
  char* const block = allocate_filled(2 * mib);
  fake_platform::refused_remaps = 1;
  fake_platform::refused_allocations = 2;  // at a huge page, and anywhere
  EXPECT_EQ(tested_.reallocate(block, 4 * mib), nullptr);
  EXPECT_EQ(block[2 * mib - 1], 7);
  EXPECT_EQ(tested_.usable_size(block), 2 * mib);
  tested_.deallocate(block);
}

TEST_F(large_refusals_test, a_retained_block_that_cannot_grow_goes_back) {
  tested_.deallocate(allocate_filled(2 * mib));
  ASSERT_EQ(tested_.retained_bytes(), 2 * mib);
  fake_platform::refused_remaps = 1;
  char* const block = allocate(3 * mib, true);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block[0], 0);
  EXPECT_EQ(tested_.retained_bytes(), 0U);
  EXPECT_EQ(fake_platform::unmaps, 1U);
  EXPECT_TRUE(tested_.is_valid());
  tested_.deallocate(block);
}

TEST_F(large_refusals_test, pages_that_the_system_refuses_serve_the_next_block_and_are_zero) {
  blocks none{0};
  auto* const block = static_cast<char*>(none.allocate(2 * mib, 16, false));
  std::memset(block, 7, 2 * mib);
  fake_platform::refused_unmaps = 1;
  none.deallocate(block);
  EXPECT_EQ(none.count(), 0U);
  auto* const next = static_cast<char*>(none.allocate(2 * mib, 16, true));
  EXPECT_EQ(next, block);
  for (std::size_t at = 0; at < 2 * mib; at += 8) ASSERT_EQ(next[at], 0);
  fake_platform::refused_unmaps = 1;
  none.deallocate(next);
  EXPECT_TRUE(none.trim(0)) << "the system takes them now";
  EXPECT_FALSE(none.trim(0));
}

// --- time ---

TEST_F(large_refusals_test, retained_blocks_go_back_after_a_decay_period) {
  void* const first = allocate(2 * mib);
  void* const second = allocate(3 * mib);
  tested_.deallocate(first);
  fake_platform::now += knobs.decay_milliseconds;
  tested_.deallocate(second);
  EXPECT_EQ(tested_.retained_bytes(), 5 * mib) << "not longer than the period";
  fake_platform::now += 1;
  void* const other = tested_.allocate(2 * mib, 64 * mib, false);
  EXPECT_EQ(tested_.retained_bytes(), 3 * mib) << "the first was retained for longer";
  tested_.deallocate(other);
}

TEST(large_refusals, live_account_remembers_the_peak_of_this_period_and_the_one_before) {
  live_account<traits> account;
  constexpr std::int64_t period = knobs.decay_milliseconds;
  account.set(10, 5 * period);
  account.set(3, 5 * period + 1);
  EXPECT_EQ(account.recent_peak(), 10U);
  account.set(4, 6 * period + 1);
  EXPECT_EQ(account.recent_peak(), 10U) << "the peak of the period before";
  account.set(2, 7 * period + 2);
  EXPECT_EQ(account.recent_peak(), 4U);
  account.set(1, 10 * period);
  EXPECT_EQ(account.recent_peak(), 2U) << "nothing changed for more than a period";
  EXPECT_EQ(account.bytes(), 1U);
}

// --- planted faults: with assertions the fault is fatal, and without them is_valid() tells ---

void check(const auto& tested) {
  if (!tested.is_valid()) std::abort();
}

TEST_F(large_refusals_test, invariants_see_pages_that_are_live_twice) {
  char* const block = allocate(2 * mib);
  check(tested_);
  EXPECT_DEATH((fake_platform::planted = block, allocate(3 * mib), check(tested_)), "");
  tested_.deallocate(block);
}

TEST_F(large_refusals_test, invariants_see_pages_that_are_live_and_retained) {
  char* const freed = allocate(2 * mib);
  tested_.deallocate(freed);
  ASSERT_EQ(tested_.retained_bytes(), 2 * mib);
  check(tested_);
  // An alignment that no retained block has, so that none is taken.
  const auto plant = [&] {
    fake_platform::planted = freed + mib;
    tested_.allocate(mib, std::size_t{1} << 40, false);
    check(tested_);
  };
  EXPECT_DEATH(plant(), "");
}

TEST_F(large_refusals_test, invariants_see_what_is_retained_twice) {
  leaving_mappings<traits> leave;
  live_account<traits> live;
  live.set(64 * mib, 0);
  live.set(0, 1);
  char* const page = static_cast<char*>(os_pages::allocate(4 * mib, os_pages::huge_page_bytes));
  const auto put_both = [&](char* first, std::int64_t since, char* second, std::int64_t later) {
    retained_mappings<traits> retained{64 * mib};
    retained.put(first, mib, live, since, leave);
    retained.put(second, mib, live, later, leave);
    check(retained);
  };
  put_both(page, 1, page + mib, 2);
  put_both(page, 2, page + mib, 1);  // a thread read the clock, and then waited for the lock
  EXPECT_DEATH(put_both(page, 1, page, 2), "");
  os_pages::unmap(page, 4 * mib);
}

// A registry whose first table is full of blocks, at 1 MiB, 2 MiB and so on.
class large_refusals_of_the_registry : public large_refusals_test {
protected:
  static char* block(std::size_t number) { return reinterpret_cast<char*>(number * mib); }
  static constexpr std::size_t first = knobs.first_registry_entries;

  void fill() {
    while (registry_.count() < first / 2)
      ASSERT_TRUE(registry_.add(block(registry_.count() + 1), 1 + registry_.count()));
  }
  void expect_filled(std::size_t added) {
    EXPECT_EQ(registry_.count(), first / 2 + added);
    for (std::size_t number = 1; number <= first / 2; ++number)
      EXPECT_EQ(registry_.bytes_of(block(number)), number);
    EXPECT_TRUE(registry_.is_valid());
  }

  growing_registry<traits> registry_;
};

TEST_F(large_refusals_of_the_registry, a_refused_table_leaves_everything_as_it_was) {
  fill();
  fake_platform::refused_allocations = 1;
  EXPECT_FALSE(registry_.add(block(1'000'000), 7));
  EXPECT_EQ(registry_.bytes_of(block(1'000'000)), 0U);
  expect_filled(0);
  EXPECT_TRUE(registry_.add(block(1'000'000), 7));
  expect_filled(1);
}

TEST_F(large_refusals_of_the_registry, a_table_that_is_not_wanted_any_more_stays_with_its_maker) {
  using registry = large_registry<traits>;
  fill();
  for (const std::size_t capacity : {first / 2, first}) {
    registry::spare small;
    ASSERT_TRUE(small.map(capacity));
    EXPECT_FALSE(registry_.registry::add(block(1'000'000), 7, small)) << "no larger than the present table";
    EXPECT_EQ(small.table.capacity(), capacity);
    expect_filled(0);
  }
  registry::spare early, late;
  ASSERT_TRUE(early.map(registry_.next_capacity()) && late.map(registry_.next_capacity()));
  EXPECT_TRUE(registry_.registry::add(block(1'000'000), 7, early));
  EXPECT_EQ(early.table.capacity(), first) << "the table that was replaced";
  EXPECT_TRUE(registry_.registry::add(block(1'000'001), 8, late));
  EXPECT_EQ(late.table.capacity(), 2 * first) << "there was room by then";
  EXPECT_EQ(registry_.bytes_of(block(1'000'000)), 7U);
  expect_filled(2);
}

TEST_F(large_refusals_test, a_block_that_moves_keeps_its_room_in_the_registry) {
  growing_registry<traits> registry;
  const auto block = [](std::size_t number) { return reinterpret_cast<char*>(number * mib); };
  ASSERT_TRUE(registry.add(block(1), 1));
  ASSERT_EQ(registry.begin_move(block(1)), 1U);
  fake_platform::refused_allocations = 1000;
  std::size_t added = 0;
  while (registry.add(block(2 + added), 1)) ++added;
  registry.end_move(block(2 + added), 1);
  EXPECT_EQ(registry.count(), added + 1);
  EXPECT_TRUE(registry.is_valid());
}

TEST_F(large_refusals_test, invariants_see_an_entry_of_no_size) {
  growing_registry<traits> registry;
  registry.add(reinterpret_cast<char*>(1 * mib), 1);
  EXPECT_TRUE(registry.is_valid());
  registry.add(reinterpret_cast<char*>(2 * mib), 0);
  EXPECT_FALSE(registry.is_valid());
}

}  // namespace
}  // namespace heaplab::scalloc::testing
