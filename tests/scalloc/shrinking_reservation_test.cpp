#include "allocators/scalloc/arena/shrinking_reservation.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaplab::scalloc {
namespace {

class shrinking_reservation_test : public ::testing::Test {
protected:
  shrinking_reservation_test() { tested_.set(bytes_.data(), bytes_.size()); }

  // Marks what leaves.
  std::size_t keep(std::size_t first, std::size_t last) {
    std::size_t left = 0;
    for (const std::span<char> part : tested_.keep(first, last))
      for (char& byte : part) left += byte++ == 0 ? 1 : 1000;
    return left;
  }
  bool are_there(std::size_t first, std::size_t last) const {
    for (std::size_t index = 0; index < bytes_.size(); ++index)
      if ((bytes_[index] == 0) != (index < first || index >= bytes_.size() - last)) return false;
    std::size_t all = 0;
    for (const std::span<char> part : tested_.all()) {
      all += part.size();
      for (const char byte : part)
        if (byte != 0) return false;
    }
    return all == tested_.bytes() && all == std::min(first + last, bytes_.size());
  }

  std::vector<char> bytes_ = std::vector<char>(100);
  shrinking_reservation tested_;
};

TEST_F(shrinking_reservation_test, is_whole_at_first) {
  EXPECT_EQ(tested_.bytes(), 100U);
  EXPECT_EQ(tested_.first(), 100U);
  EXPECT_EQ(tested_.last(), 100U);
  EXPECT_TRUE(are_there(100, 0));
}

TEST_F(shrinking_reservation_test, gives_the_middle_up_once) {
  EXPECT_EQ(keep(30, 20), 50U);
  EXPECT_TRUE(are_there(30, 20));
  EXPECT_EQ(keep(30, 20), 0U);
  EXPECT_EQ(keep(40, 20), 0U) << "what is gone does not come back";
  EXPECT_EQ(keep(20, 25), 10U);
  EXPECT_TRUE(are_there(20, 20));
  EXPECT_EQ(keep(10, 5), 25U);
  EXPECT_TRUE(are_there(10, 5));
}

TEST_F(shrinking_reservation_test, keeps_all_where_the_ends_meet) {
  EXPECT_EQ(keep(60, 40), 0U);
  EXPECT_EQ(keep(90, 90), 0U);
  EXPECT_TRUE(are_there(100, 0));
}

TEST_F(shrinking_reservation_test, may_lose_an_end) {
  EXPECT_EQ(keep(70, 0), 30U);
  EXPECT_TRUE(are_there(70, 0));
  EXPECT_EQ(keep(0, 0), 70U);
  EXPECT_TRUE(are_there(0, 0));
}

}  // namespace
}  // namespace heaplab::scalloc
