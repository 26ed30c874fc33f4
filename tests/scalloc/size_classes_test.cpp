#include "allocators/scalloc/policy/size_classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "allocators/scalloc/policy/config.h"
#include "allocators/scalloc/policy/variants.h"

namespace heaplab::scalloc {
namespace {

constexpr config standard_config = standard();
constexpr config paper_config = paper();

template <class Classes>
class size_classes_test : public testing::Test {};
using tables = testing::Types<size_classes<standard_config>, size_classes<paper_config>>;
TYPED_TEST_SUITE(size_classes_test, tables);

TYPED_TEST(size_classes_test, gives_every_size_the_smallest_class_that_holds_it) {
  const auto& table = TypeParam::table;
  unsigned expected = 0;
  for (std::size_t bytes = 0; bytes <= mib; ++bytes) {
    if (bytes > table[expected].block_bytes) ++expected;
    ASSERT_EQ(TypeParam::index_of(bytes), expected) << bytes;
    ASSERT_EQ(TypeParam::index_of_computed(bytes), expected) << bytes;
  }
  EXPECT_EQ(expected, TypeParam::count - 1);
}

TYPED_TEST(size_classes_test, keeps_blocks_in_their_span) {
  const config& knobs =
      std::is_same_v<TypeParam, size_classes<paper_config>> ? paper_config : standard_config;
  for (const size_class& kind : TypeParam::table) {
    const std::size_t span = kind.fine ? knobs.fine_span_bytes : knobs.coarse_span_bytes;
    EXPECT_GE(kind.blocks, 1U);
    EXPECT_EQ(kind.block_bytes % 16, 0U);
    const std::size_t last_color = (kind.colors - std::size_t{1}) * color_step;
    EXPECT_LE(last_color + std::size_t{kind.blocks} * kind.block_bytes, kind.real_span_bytes);
    EXPECT_LE(kind.real_span_bytes, span);
  }
}

TYPED_TEST(size_classes_test, divides_every_offset_by_the_reciprocal) {
  for (const size_class& kind : TypeParam::table)
    for (std::uint64_t offset = 0; offset < 2 * mib; offset += offset % 4096 < 512 ? 1 : 37)
      ASSERT_EQ((offset * kind.reciprocal) >> reciprocal_shift, offset / kind.block_bytes)
          << offset << " / " << kind.block_bytes;
}

// Whether the blocks of every span of the class begin at multiples of `alignment`.
template <class Classes>
bool are_aligned_in_all_colors(const size_class& kind, std::size_t alignment) {
  for (std::uint32_t span = 0; span < 1024; ++span)
    for (std::size_t block = 0; block < std::min(kind.blocks, 2U); ++block)
      if ((Classes::color_of(span, kind) + block * kind.block_bytes) % alignment != 0) return false;
  return true;
}

TYPED_TEST(size_classes_test, finds_aligned_classes) {
  for (std::size_t alignment = 32; alignment <= mib; alignment *= 2)
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{1100}, std::size_t{5000}, std::size_t{9000},
          std::size_t{12288}, std::size_t{50'000}, alignment - 1, alignment, alignment + 1, 3 * alignment}) {
      const unsigned index = TypeParam::index_of_aligned(alignment, bytes);
      if (bytes > mib) {
        EXPECT_EQ(index, TypeParam::count);
        continue;
      }
      ASSERT_LT(index, TypeParam::count);
      EXPECT_GE(TypeParam::table[index].block_bytes, bytes);
      EXPECT_TRUE(are_aligned_in_all_colors<TypeParam>(TypeParam::table[index], alignment)) << bytes;
      const bool smaller_would_do =
          index > 0 && TypeParam::table[index - 1].block_bytes >= bytes &&
          are_aligned_in_all_colors<TypeParam>(TypeParam::table[index - 1], alignment);
      EXPECT_FALSE(smaller_would_do);
    }
  EXPECT_EQ(TypeParam::index_of_aligned(2 * mib, 1), TypeParam::count);
}

TYPED_TEST(size_classes_test, uses_every_color_about_equally) {
  for (const size_class& kind : TypeParam::table) {
    std::vector<unsigned> uses(kind.colors);
    for (std::uint32_t span = 0; span < 64U * kind.colors; ++span) {
      const std::size_t color = TypeParam::color_of(span, kind) / color_step;
      ASSERT_LT(color, kind.colors);
      ++uses[color];
    }
    for (const unsigned count : uses) EXPECT_NEAR(count, 64, 2);
  }
}

TYPED_TEST(size_classes_test, shares_slots_among_equal_spans_alone) {
  const auto& table = TypeParam::table;
  for (const size_class& of_table : table)
    for (const size_class& other : table) {
      if (of_table.pool_slot != other.pool_slot) continue;
      EXPECT_EQ(of_table.fine, other.fine);
    }
  EXPECT_LE(TypeParam::slot_count(), 16U);
}

TEST(size_classes, are_the_papers_in_its_variant) {
  using classes = size_classes<paper_config>;
  ASSERT_EQ(classes::count, 28U);
  std::vector<std::size_t> expected;
  for (std::size_t bytes = 16; bytes <= 256; bytes += 16) expected.push_back(bytes);
  for (std::size_t bytes = 512; bytes <= mib; bytes *= 2) expected.push_back(bytes);
  for (unsigned index = 0; index < classes::count; ++index)
    EXPECT_EQ(classes::table[index].block_bytes, expected[index]);
  const auto blocks = [](std::size_t bytes) { return classes::table[classes::index_of(bytes)].blocks; };
  EXPECT_EQ(blocks(16), 2040U);
  EXPECT_EQ(blocks(256), 127U);
  EXPECT_EQ(blocks(2048), 64U);
  EXPECT_EQ(blocks(8192), 32U);
  EXPECT_EQ(blocks(65536), 16U);
  EXPECT_EQ(blocks(mib), 1U);
}

// Section 7: madvise is called for the classes above 256 bytes.
TEST(size_classes, return_their_memory_above_256_bytes_in_the_papers_variant) {
  for (const size_class& kind : size_classes<paper_config>::table)
    EXPECT_EQ(kind.real_span_bytes > paper_config.purge_above, kind.block_bytes > 256) << kind.block_bytes;
}

TEST(size_classes, grow_blocks_further_than_asked) {
  using classes = size_classes<standard_config>;
  EXPECT_EQ(classes::grown(240, 250), 250U) << "small blocks are copied fast";
  EXPECT_EQ(classes::grown(1024, 1100), 1280U) << "a quarter more than it was";
  EXPECT_EQ(classes::grown(1024, 5000), 5000U);
  EXPECT_EQ(classes::grown(16 * kib, 32 * kib - 1), 32 * kib - 1);
  EXPECT_EQ(classes::grown(16 * kib, 32 * kib), 48 * kib) << "half more than asked";
  EXPECT_EQ(classes::grown(512 * kib, 800 * kib), mib) << "stays in a span";
  for (std::size_t from = 16; from <= mib; from *= 2)
    EXPECT_EQ(size_classes<paper_config>::grown(from, from + 1), from + 1);
}

TEST(size_classes, of_powers_of_two_have_one_color_and_serve_aligned_requests) {
  using classes = size_classes<standard_config>;
  const auto block = [](std::size_t alignment, std::size_t bytes) {
    return classes::table[classes::index_of_aligned(alignment, bytes)].block_bytes;
  };
  EXPECT_EQ(block(64, 5000), 5120U) << "every color keeps the alignment of a cache line";
  EXPECT_EQ(block(4096, 4096), 4096U);
  EXPECT_EQ(block(4096, 20'480), 32'768U);
  for (std::size_t bytes = 16; bytes <= mib; bytes *= 2)
    EXPECT_EQ(classes::table[classes::index_of(bytes)].colors, 1U);
  for (const std::size_t bytes : {1280, 3584, 10'240, 24'576, 917'504})
    EXPECT_GT(classes::table[classes::index_of(bytes)].colors, 1U) << bytes;
}

TEST(size_classes, cache_64_kib_and_more_of_large_blocks) {
  using classes = size_classes<standard_config>;
  const auto most = [](std::size_t bytes) { return classes::table[classes::index_of(bytes)].most_cached; };
  EXPECT_EQ(most(64), 128U);
  EXPECT_EQ(most(1024), 64U);
  EXPECT_EQ(most(6144), 16U);
  EXPECT_EQ(most(16 * kib), 16U);
  EXPECT_EQ(most(64 * kib), 4U) << "256 KiB at most";
  EXPECT_EQ(most(320 * kib), 0U);
  const auto fewest = [](std::size_t bytes) {
    return classes::table[classes::index_of(bytes)].fewest_cached;
  };
  EXPECT_EQ(fewest(64), 24U);
  EXPECT_EQ(fewest(16 * kib), 4U);
  EXPECT_EQ(fewest(128 * kib), 1U);
}

TEST(size_classes, waste_at_most_a_fifth_above_256_bytes) {
  using classes = size_classes<standard_config>;
  for (std::size_t bytes = 257; bytes <= mib; ++bytes) {
    const std::size_t block = classes::table[classes::index_of(bytes)].block_bytes;
    ASSERT_LE(5 * (block - bytes), block) << bytes;
  }
}

}  // namespace
}  // namespace heaplab::scalloc
