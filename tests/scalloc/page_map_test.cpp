// The page map of an arena with two zones, and the runs of spans that share its lines.
#include "allocators/scalloc/arena/page_map.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "allocators/scalloc/arena/arena.h"
#include "allocators/scalloc/policy/variants.h"
#include "concurrent/sync.h"
#include "scalloc/traits.h"

namespace heaplab::scalloc {
namespace {

constexpr config two_zones = standard();
using traits = test_traits<concurrent::std_sync, two_zones>;
using span_type = span<traits>;
using classes = traits::classes;

class page_map_test : public ::testing::Test {
protected:
  void open(std::size_t bytes) { ASSERT_TRUE(tested_.open(bytes, huge_page_policy::never)); }
  void TearDown() override { tested_.close(); }

  // A span of the class, carved and in use.
  span_type& owned(unsigned class_index, unsigned column = 0) {
    span_type& result = *tested_.carve(classes::table[class_index].fine, column);
    result.class_index.store(class_index, std::memory_order_relaxed);
    result.color = classes::color_of(tested_.number_of(result), classes::table[class_index]);
    tested_.set_list(result, static_cast<std::uint8_t>(class_index + 1));
    return result;
  }
  unsigned list_of(const void* block) const { return tested_.list_of(block); }

  arena<traits> tested_;
};

TEST_F(page_map_test, knows_the_lists_of_all_classes_that_have_one) {
  open(8 * std::size_t{1024} * mib);
  unsigned without = 0;
  for (unsigned index = 0; index < classes::count; ++index)
    for (unsigned times = 0; times < 3; ++times) {
      const size_class& kind = classes::table[index];
      span_type& of_class = owned(index);
      without += kind.most_cached == 0 ? 1 : 0;
      for (unsigned number = 0; number < kind.blocks; ++number)
        ASSERT_EQ(list_of(of_class.block_at(number, kind)), kind.most_cached > 0 ? index + 1 : 0)
            << kind.block_bytes;
      tested_.set_list(of_class, 0);
      for (unsigned number = 0; number < kind.blocks; ++number)
        ASSERT_EQ(list_of(of_class.block_at(number, kind)), 0U) << kind.block_bytes;
    }
  EXPECT_GT(without, 0U);
}

TEST_F(page_map_test, knows_no_address_outside) {
  open(64 * mib);
  char* const first = owned(0).base;
  EXPECT_EQ(list_of(nullptr), 0U);
  EXPECT_EQ(list_of(&first), 0U);
  EXPECT_EQ(list_of(first - 16), 0U);
  EXPECT_EQ(list_of(first + 8), 0U) << "no multiple of 16";
  EXPECT_EQ(list_of(first + 64 * mib), 0U);
}

// Nobody may read what lies between the zones: it is another's by then.
TEST_F(page_map_test, knows_the_fine_zone_alone_once_the_arena_has_shrunk) {
  open(std::size_t{1} << 40);
  const unsigned coarse = classes::index_of(20'000);
  std::vector<span_type*> fine_spans;
  for (unsigned step = 0; step < 1000; ++step) fine_spans.push_back(&owned(5));
  span_type& large = owned(coarse);
  char* const block = large.block_at(0, classes::table[coarse]);
  EXPECT_EQ(list_of(block), coarse + 1);
  for (const std::size_t bytes : {512 * mib, 128 * mib}) {
    ASSERT_TRUE(tested_.shrink(bytes));
    for (const span_type* const fine : fine_spans) EXPECT_EQ(list_of(fine->base), 6U);
    EXPECT_EQ(list_of(block), 0U);
    for (char* in_gap = fine_spans.front()->base + bytes; in_gap < large.base - bytes; in_gap += 4096 * mib)
      EXPECT_EQ(list_of(in_gap), 0U);
  }
  while (tested_.carve(true, 0) != nullptr) continue;
  while (tested_.carve(false, 0) != nullptr) continue;
}

TEST_F(page_map_test, has_the_spans_of_two_columns_in_different_lines) {
  open(64 * mib);
  std::set<std::uint32_t> lines[2];
  for (unsigned step = 0; step < 1000; ++step)
    lines[step % 2].insert(tested_.number_of(*tested_.carve(true, step % 2)) /
                           page_map<traits>::entries_in_line);
  for (const std::uint32_t line : lines[0]) EXPECT_FALSE(lines[1].contains(line));
  EXPECT_EQ(lines[0].size(), 8U);
}

TEST_F(page_map_test, leaves_no_span_to_a_column_that_asks_for_none) {
  open(64 * mib);
  std::set<char*> bases;
  for (unsigned step = 0;; ++step) {
    const span_type* const carved = tested_.carve(true, step < 100 ? step : 0);
    if (carved == nullptr) break;
    EXPECT_TRUE(bases.insert(carved->base).second);
  }
  EXPECT_EQ(bases.size(), 64 * mib / two_zones.fine_span_bytes);
}

}  // namespace
}  // namespace heaplab::scalloc
