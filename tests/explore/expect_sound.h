#pragma once

#include <gtest/gtest.h>

#include "explore/explorer.h"

namespace heaplab::explore {

// Expects that an exploration has found no fault in more than `runs` runs.
inline void expect_sound(const outcome& result, std::size_t runs = 10) {
  EXPECT_FALSE(result.failed) << result.what << " in run " << result.runs;
  EXPECT_GT(result.runs, runs);
  ::testing::Test::RecordProperty("runs", static_cast<int>(result.runs));
}

}  // namespace heaplab::explore
