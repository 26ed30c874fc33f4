#include "recorder/site_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace heaplab::recorder {
namespace {

TEST(site_table, finds_what_was_added_and_ends_at_its_largest_size) {
  site_table table;
  std::vector<std::vector<std::uint64_t>> memory;
  std::map<std::uint64_t, std::uint64_t> added;
  for (std::uint64_t stack = 1;; ++stack) {
    const std::uint64_t key = stack * 0x9E3779B97F4A7C15ULL | std::uint64_t{1} << 63;
    const std::uint64_t addresses[] = {stack, stack + 1};
    numbered_site site = table.add(key, addresses);
    while (site.site == nullptr && table.next_bytes() != 0) {
      auto* const level =
          reinterpret_cast<trace::raw_chunk*>(memory.emplace_back(table.next_bytes() / 8).data());
      level->bytes = static_cast<std::uint32_t>(table.next_bytes());
      ASSERT_TRUE(table.add(level));
      site = table.add(key, addresses);
    }
    if (site.site == nullptr) break;
    ASSERT_NE(site.number, site_table::elsewhere);
    ASSERT_LT(site.number, std::uint64_t{1} << trace::site_bits);
    added[key] = site.number;
  }
  EXPECT_GT(added.size(), 10'000U);
  for (const auto& [key, number] : added) {
    EXPECT_EQ(table.find(key).number, number);
    EXPECT_EQ(table.at(number)->addresses[1], table.at(number)->addresses[0] + 1);
  }
  EXPECT_NE(table.at(site_table::elsewhere), nullptr);
  // The memory of a recording that has ended reads as zero.
  for (std::vector<std::uint64_t>& level : memory) std::ranges::fill(level, 0);
  EXPECT_EQ(table.find(added.begin()->first).site, nullptr);
  EXPECT_EQ(table.add(added.begin()->first, {}).site, nullptr);
}

}  // namespace
}  // namespace heaplab::recorder
