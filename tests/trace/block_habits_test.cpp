#include "trace/profile/block_habits.h"

#include <gtest/gtest.h>

namespace heaplab::trace {
namespace {

// Events of one process, each with the number that block_habits gives it.
class story {
public:
  std::uint64_t acquire(std::uint64_t address, std::uint64_t size, std::uint32_t site = 1,
                        std::uint32_t thread = 1, kind what = kind::malloc) {
    return see({.address = address, .size = size, .thread = thread, .site = site, .kind = what});
  }
  std::uint64_t release(std::uint64_t address, std::uint32_t thread = 1, kind what = kind::free) {
    return see({.address = address, .thread = thread, .kind = what});
  }
  std::uint64_t grow(std::uint64_t from, std::uint64_t to, std::uint64_t size, std::uint32_t site = 1) {
    release(from, 1, kind::realloc_from);
    return acquire(to, size, site, 1, kind::realloc_to);
  }
  block_habits habits;

private:
  std::uint64_t see(const event& e) {
    habits.see(e);
    return ++number_;
  }
  std::uint64_t number_ = 0;
};

TEST(block_habits, finds_a_chain_of_reallocations) {
  story of;
  const std::uint64_t first = of.acquire(16, 10, 1);
  const std::uint64_t second = of.grow(16, 32, 100, 2);
  of.grow(32, 32, 300, 3);
  of.release(32);
  const block_chain* const chain = of.habits.chain_from(first);
  ASSERT_NE(chain, nullptr);
  EXPECT_EQ(chain->site, 2U);
  EXPECT_EQ(chain->most_size, 300U);
  EXPECT_EQ(chain->growths, 2U);
  EXPECT_EQ(chain->bytes_copied, 10U);  // the second growth stayed where it was
  EXPECT_EQ(of.habits.chain_before(second), first);
  EXPECT_EQ(of.habits.chain_from(second), nullptr);
  EXPECT_EQ(of.habits.by_site().at(2).growths, 2U);
}

TEST(block_habits, a_reallocation_that_failed_or_only_shrank_grew_nothing) {
  story of;
  const std::uint64_t shrunk = of.acquire(16, 100);
  of.grow(16, 32, 10);
  const std::uint64_t failed = of.acquire(48, 100);
  of.grow(48, 0, 1000);
  of.release(48);
  EXPECT_EQ(of.habits.chain_from(shrunk), nullptr);
  EXPECT_EQ(of.habits.chain_from(failed), nullptr);
}

TEST(block_habits, finds_a_chain_of_copies_from_the_second_on) {
  story of;
  const std::uint64_t once = of.acquire(16, 10);
  of.acquire(32, 20);
  of.release(16);
  EXPECT_EQ(of.habits.chain_from(once), nullptr);
  of.acquire(48, 40);
  of.release(32);
  ASSERT_NE(of.habits.chain_from(once), nullptr);
  EXPECT_EQ(of.habits.chain_from(once)->copies, 2U);
  EXPECT_EQ(of.habits.chain_from(once)->most_size, 40U);
  EXPECT_EQ(of.habits.chain_from(once)->bytes_copied, 30U);
}

TEST(block_habits, what_is_released_later_or_acquired_elsewhere_was_not_copied) {
  story of;
  std::uint64_t block = of.acquire(16, 10);
  for (const std::uint64_t next : {32, 48, 64}) {
    of.acquire(next, 10 * next);
    of.acquire(1024 + next, 1);
    of.release(next - 16);
  }
  EXPECT_EQ(of.habits.chain_from(block), nullptr);
  block = of.acquire(2048, 10, 1);
  of.acquire(2064, 20, 2);
  of.release(2048);
  of.acquire(2080, 40, 3);
  of.release(2064);
  EXPECT_EQ(of.habits.chain_from(block), nullptr);
}

TEST(block_habits, a_block_dies_at_once_where_its_thread_releases_it_within_four_calls) {
  story of;
  const std::uint64_t soon = of.acquire(16, 100);
  of.acquire(32, 1, 2);
  of.acquire(48, 1, 2, 2);  // of another thread, which does not count
  of.acquire(64, 1, 2);
  of.acquire(80, 1, 2);
  of.release(16);
  const std::uint64_t late = of.acquire(96, 100);
  for (const std::uint64_t address : {112, 128, 144, 160}) of.acquire(address, 1, 2);
  of.release(96);
  const std::uint64_t elsewhere = of.acquire(176, 100);
  of.release(176, 2);
  const std::uint64_t large = of.acquire(192, block_habits::most_on_stack + 1);
  of.release(192);
  EXPECT_TRUE(of.habits.dies_at_once(soon));
  for (const std::uint64_t other : {late, elsewhere, large}) EXPECT_FALSE(of.habits.dies_at_once(other));
  EXPECT_EQ(of.habits.by_site().at(1).temporaries, 1U);
  EXPECT_EQ(of.habits.by_site().at(1).temporary_bytes, 100U);
}

}  // namespace
}  // namespace heaplab::trace
