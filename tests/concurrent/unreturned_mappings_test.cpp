#include "concurrent/unreturned_mappings.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "concurrent/sync.h"

namespace heaplab::concurrent {
namespace {

const std::size_t page = os_pages::page_bytes();

char* written(std::size_t pages) {
  auto* const start = static_cast<char*>(os_pages::allocate(pages * page));
  std::memset(start, 7, pages * page);
  return start;
}

bool is_zero(const char* start, std::size_t bytes) {
  return start[0] == 0 && std::memcmp(start, start + 1, bytes - 1) == 0;
}

TEST(unreturned_mappings, serve_the_smallest_that_is_enough_and_zero) {
  unreturned_mappings<std_sync> kept;
  EXPECT_EQ(kept.try_take(page, page), nullptr);
  char* const large = written(8);
  char* const small = written(3);
  kept.keep(large, 8 * page);
  kept.keep(small, 3 * page);
  EXPECT_EQ(large[0], 7) << "the first bytes stay, for who looks at a freed block";
  EXPECT_EQ(kept.try_take(9 * page, page), nullptr);
  EXPECT_EQ(kept.try_take(2 * page, page), small);
  EXPECT_TRUE(is_zero(small, 2 * page));
  EXPECT_EQ(kept.try_take(4 * page, page), large);
  EXPECT_EQ(kept.try_take(4 * page, page), large + 4 * page) << "the rest is kept";
  EXPECT_EQ(kept.try_take(page, page), small + 2 * page);
  EXPECT_TRUE(is_zero(large, 8 * page));
  EXPECT_EQ(kept.try_take(page, page), nullptr);
  os_pages::unmap(large, 8 * page);
  os_pages::unmap(small, 3 * page);
}

TEST(unreturned_mappings, serve_what_is_aligned) {
  unreturned_mappings<std_sync> kept;
  auto* const aligned = static_cast<char*>(os_pages::allocate(32 * page, 16 * page));
  kept.keep(aligned + 16 * page, 3 * page);
  kept.keep(aligned + page, 2 * page);
  EXPECT_EQ(kept.try_take(2 * page, 16 * page), aligned + 16 * page);
  EXPECT_EQ(kept.try_take(2 * page, 16 * page), nullptr);
  EXPECT_EQ(kept.try_take(2 * page, page), aligned + page);
  os_pages::unmap(aligned, 32 * page);
}

TEST(unreturned_mappings, go_back_when_the_system_takes_them) {
  unreturned_mappings<std_sync> kept;
  char* const first = written(3);
  char* const second = written(3);
  char* const third = written(3);
  kept.keep(first, 3 * page);
  kept.release(second, 3 * page);
  EXPECT_FALSE(os_pages::is_readable(first)) << "the next success is a chance for those before";
  EXPECT_EQ(kept.try_take(page, page), nullptr);
  kept.keep(third, 3 * page);
  EXPECT_TRUE(kept.release_all());
  EXPECT_FALSE(kept.release_all());
  EXPECT_EQ(kept.try_take(page, page), nullptr);
}

TEST(unreturned_mappings, are_served_once_by_many_threads) {
  unreturned_mappings<std_sync> kept;
  constexpr std::size_t count = 64;
  char* const all = written(count);
  for (std::size_t index = 0; index < count; ++index) kept.keep(all + index * page, page);
  std::vector<std::vector<char*>> held(4);
  {
    std::vector<std::jthread> team;
    for (auto& own : held)
      team.emplace_back([&] {
        for (int round = 0; round < 2000; ++round) {
          if (own.size() < count / 4)
            if (void* const place = kept.try_take(page, page)) {
              own.push_back(static_cast<char*>(place));
              EXPECT_TRUE(is_zero(own.back(), page));
              std::memset(own.back(), 1, page);
            }
          if (round % 3 != 0 || own.empty()) continue;
          kept.keep(own.back(), page);
          own.pop_back();
        }
      });
  }
  std::set<char*> seen;
  for (auto& own : held)
    for (char* const place : own) EXPECT_TRUE(seen.insert(place).second);
  while (void* const place = kept.try_take(page, page))
    EXPECT_TRUE(seen.insert(static_cast<char*>(place)).second);
  EXPECT_EQ(seen.size(), count);
  os_pages::unmap(all, count * page);
}

}  // namespace
}  // namespace heaplab::concurrent
