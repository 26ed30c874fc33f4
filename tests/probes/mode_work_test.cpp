#include "probes/mode_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

using heaplab::probes::mode_table;
using heaplab::probes::mode_work;

namespace {

TEST(mode_work, same_rounds_do_the_same) {
  const auto first = std::make_unique<mode_table>(), second = std::make_unique<mode_table>();
  EXPECT_EQ(mode_work(*first, 1000), mode_work(*second, 1000));
  EXPECT_EQ(*first, *second);
  EXPECT_NE(mode_work(*first, 1000), mode_work(*second, 1001));
}

TEST(mode_work, reaches_the_whole_table_and_takes_both_branches) {
  const auto table = std::make_unique<mode_table>();
  const std::uint64_t taken = mode_work(*table, 100'000);
  EXPECT_NE(taken, 0U);
  EXPECT_EQ(std::count(table->begin(), table->end(), std::uint64_t{0}), 0);
  const auto odd =
      std::count_if(table->begin(), table->end(), [](std::uint64_t entry) { return (entry & 64) != 0; });
  EXPECT_GT(odd, static_cast<std::ptrdiff_t>(table->size() / 3));
  EXPECT_LT(odd, static_cast<std::ptrdiff_t>(2 * table->size() / 3));
}

}  // namespace
