#include "concurrent/tagged_index.h"

#include <gtest/gtest.h>

namespace heaplab::concurrent {
namespace {

TEST(tagged_index, is_none_with_tag_zero_by_default) {
  EXPECT_TRUE(tagged_index{}.is_none());
  EXPECT_EQ(tagged_index{}.tag(), 0U);
  EXPECT_EQ(tagged_index{}.word(), 0U);
}

TEST(tagged_index, keeps_every_index_apart_from_none) {
  for (const std::uint32_t index : {0U, 1U, 12345U, tagged_index::index_limit - 1}) {
    const tagged_index tagged = tagged_index{}.with_index(index);
    EXPECT_FALSE(tagged.is_none());
    EXPECT_EQ(tagged.index(), index);
    EXPECT_EQ(tagged.tag(), 0U);
  }
}

TEST(tagged_index, changes_index_and_tag_independently) {
  const tagged_index tagged =
      tagged_index{}.with_index(tagged_index::index_limit - 1).with_next_tag().with_next_tag();
  EXPECT_EQ(tagged.index(), tagged_index::index_limit - 1);
  EXPECT_EQ(tagged.tag(), 2U);
  EXPECT_EQ(tagged.with_index(3).tag(), 2U);
  EXPECT_EQ(tagged.with_none().tag(), 2U);
  EXPECT_TRUE(tagged.with_none().is_none());
}

TEST(tagged_index, wraps_the_tag_without_touching_the_index) {
  const tagged_index last{tagged_index{~std::uint64_t{0}}.with_index(7)};
  EXPECT_EQ(last.with_next_tag().index(), 7U);
  EXPECT_EQ(last.with_next_tag().tag(), 0U);
}

}  // namespace
}  // namespace heaplab::concurrent
