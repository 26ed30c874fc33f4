#include "recorder/sample_filter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace heaplab::recorder {
namespace {

TEST(sample_filter, knows_every_live_address_however_many_share_a_count) {
  auto filter = std::make_unique<sample_filter>();
  constexpr std::uint64_t page = 0x7F0000000000;
  EXPECT_FALSE(filter->may_hold(page));
  for (std::uint64_t block = 0; block < 300; ++block) {
    filter->add(page + block);
    ASSERT_TRUE(filter->may_hold(page));
  }
  for (std::uint64_t block = 0; block < 299; ++block) filter->remove(page + block);
  EXPECT_TRUE(filter->may_hold(page + 299));
  constexpr std::uint64_t other = 0x7F0000001000;
  filter->add(other);
  EXPECT_TRUE(filter->may_hold(other));
  filter->remove(other);
  EXPECT_FALSE(filter->may_hold(other));
}

}  // namespace
}  // namespace heaplab::recorder
