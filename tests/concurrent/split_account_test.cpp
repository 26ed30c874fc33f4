#include "concurrent/split_account.h"

#include <gtest/gtest.h>

#include <memory>

#include "concurrent/purge_thread_post.h"
#include "explore/expect_sound.h"
#include "explore/torn_sync.h"

namespace heaplab::concurrent {
namespace {

constexpr unsigned parts = 2;
using explore::require;
using plain_account = split_account<std_sync, parts>;

TEST(split_account, grants_a_quarter_more_than_is_needed) {
  plain_account tested(10);
  EXPECT_EQ(tested.add(0, 16), 20);
  EXPECT_EQ(tested.add(0, 4), std::nullopt) << "within the quota";
  EXPECT_EQ(tested.add(1, 8), 20 + 10);
  EXPECT_EQ(tested.add(0, 80), 110 + 10) << "no more than 10 ahead";
  EXPECT_EQ(tested.sum(parts), 108);
  EXPECT_TRUE(tested.is_valid());
}

TEST(split_account, remembers_the_quota_of_a_part_that_shrinks) {
  plain_account tested(10);
  tested.add(0, 30);
  EXPECT_EQ(tested.subtract(0, 25), 5);
  EXPECT_EQ(tested.add(0, 25), std::nullopt);
  EXPECT_EQ(tested.of_part(0), 30);
}

TEST(split_account, takes_unused_quotas_back) {
  plain_account tested(10);
  tested.add(0, 30);
  tested.add(1, 30);
  tested.subtract(0, 25);
  EXPECT_EQ(tested.shrink_quotas(parts), 35);
  EXPECT_TRUE(tested.is_valid());
  EXPECT_EQ(tested.add(0, 1), 37) << "no quota is left";
}

TEST(split_account, has_parts_below_zero) {
  plain_account tested(10);
  for (int step = 1; step <= 100; ++step) {
    tested.add(0, 20);
    tested.subtract(1, 20);
    EXPECT_EQ(tested.sum(parts), 0);
    EXPECT_EQ(tested.shrink_quotas(parts), 0);
    EXPECT_TRUE(tested.is_valid());
  }
}

// --- interleavings ---

template <class Sync>
explore::outcome explore_account(std::int64_t most_ahead) {
  std::unique_ptr<split_account<Sync, parts>> tested;
  const auto adds = [&](unsigned part) {
    return [&, part] {
      tested->add(part, 3);
      tested->subtract(part, 2);
      tested->add(part, 2);
    };
  };
  const auto takes_back = [&] { require(tested->shrink_quotas(parts) >= 0, "less than nothing is granted"); };
  const auto check = [&] {
    require(tested->is_valid(), "a part exceeds its quota, or quotas are lost");
    require(tested->sum(parts) == 10, "the sum is wrong");
  };
  return explore::explorer({.setup =
                                [&] {
                                  tested = std::make_unique<split_account<Sync, parts>>(most_ahead),
                                  tested->add(0, 4);
                                },
                            .threads = {adds(0), adds(0), takes_back},
                            .check = check},
                           {.preemptions = 3})
      .explore();
}

TEST(split_account, interleavings_keep_every_part_within_its_quota) {
  for (const std::int64_t most_ahead : {0, 1, 8}) {
    explore::expect_sound(explore_account<explore::explored_sync>(most_ahead), 1000);
  }
}

TEST(split_account, interleavings_find_the_torn_compare_and_swap) {
  EXPECT_TRUE(explore_account<explore::torn_sync>(1).failed);
}

// Threads ask for a purge thread when they learn that much is granted; the purge thread resigns when it finds
// little (span_pool.h, idle_purge.h). Much may not be left without a purge thread.
template <class Account, class Sync>
explore::outcome explore_purge_thread() {
  constexpr std::int64_t much = 10;
  struct scene {
    Account account{3};
    purge_thread_post<Sync> post;
  };
  std::unique_ptr<scene> tested;
  const auto adds = [&](unsigned part) {
    return [&, part] {
      const auto granted = tested->account.add(part, 6);
      if (granted && *granted >= much) tested->post.ask();
    };
  };
  const auto helps = [&, number = std::uint32_t{0}]() mutable {
    while (tested->account.shrink_quotas(parts) < much && !tested->post.try_resign(number)) continue;
  };
  const auto setup = [&] {
    tested = std::make_unique<scene>();
    tested->post.ask();
  };
  const auto check = [&] {
    require(tested->account.sum(parts) < much || !tested->post.looks_vacant(),
            "much is left without a purge thread");
  };
  return explore::explorer({.setup = setup, .threads = {adds(0), adds(1), helps}, .check = check},
                           {.preemptions = 3})
      .explore();
}

TEST(split_account, interleavings_leave_nothing_without_a_purge_thread) {
  using explore::explored_sync;
  explore::expect_sound(explore_purge_thread<split_account<explored_sync, parts>, explored_sync>(), 1000);
}

}  // namespace
}  // namespace heaplab::concurrent
