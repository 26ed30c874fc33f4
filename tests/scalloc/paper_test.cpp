// What the paper says of its own scalloc, and scalloc-paper does: protection, and the search of the
// span-pool.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "allocators/scalloc/policy/variants.h"
#include "allocators/scalloc/scalloc_heap.h"
#include "base/bits.h"
#include "base/os_pages.h"
#include "scalloc/pool_of.h"

namespace heaplab::scalloc {
namespace {

constexpr config paper_config = paper();
using heap = scalloc_heap<paper_config>;
using classes = size_classes<paper_config>;

// --- section 3.2: what a virtual span has beyond its real span is protected ---

char* virtual_span_of(void* block) {
  return reinterpret_cast<char*>(
      align_down(reinterpret_cast<std::uintptr_t>(block), paper_config.fine_span_bytes));
}

void expect_access_to_the_real_span_alone(void* block, std::size_t real_span_bytes) {
  char* const span = virtual_span_of(block);
  EXPECT_TRUE(os_pages::is_readable(span + real_span_bytes - 8));
  EXPECT_FALSE(os_pages::is_readable(span + real_span_bytes));
  EXPECT_FALSE(os_pages::is_readable(span + paper_config.fine_span_bytes - 8));
}

TEST(paper, protects_the_rest_of_a_virtual_span_in_each_class) {
  for (const size_class& kind : classes::table) {
    void* const block = heap::allocate(kind.block_bytes);
    expect_access_to_the_real_span_alone(block, kind.real_span_bytes);
    heap::deallocate(block);
  }
}

TEST(paper, protects_the_rest_of_a_span_that_passes_to_another_class) {
  const auto fill = [](std::size_t bytes) {
    std::vector<void*> blocks(classes::table[classes::index_of(bytes)].blocks + 1);
    for (void*& block : blocks) block = heap::allocate(bytes);
    return blocks;
  };
  constexpr std::size_t sizes[] = {512 * kib, 240, 64 * kib, 2 * kib, 512, 1024 * kib, 16};
  std::set<char*> seen;
  for (const std::size_t bytes : sizes) {
    const std::vector<void*> blocks = fill(bytes);
    for (void* const block : {blocks.front(), blocks.back()}) {
      std::memset(block, 1, bytes);
      expect_access_to_the_real_span_alone(block, classes::table[classes::index_of(bytes)].real_span_bytes);
      seen.insert(virtual_span_of(block));
    }
    for (void* const block : blocks) heap::deallocate(block);
  }
  EXPECT_LT(seen.size(), 2 * std::size(sizes)) << "no span passed to another class";
}

TEST(paper, lets_a_stray_write_fault) {
  char* const block = static_cast<char*>(heap::allocate(64));
  EXPECT_DEATH(block[3 * mib / 2] = 1, "");
  heap::deallocate(block);
}

// --- listing 1: the own stack, then every stack from the first on ---

class paper_pool : public testing::Test {
protected:
  using span_type = pool_of<paper_config>::span_type;
  span_type* put(std::size_t bytes, unsigned column) {
    span_type* const span = tested_.used(classes::index_of(bytes), 1)[0];
    tested_.pool.put(tested_.spans, *span, column);
    return span;
  }
  span_type* get(std::size_t bytes, unsigned column) {
    return tested_.pool.get(tested_.spans, classes::index_of(bytes), column);
  }
  pool_of<paper_config> tested_;
};

TEST_F(paper_pool, takes_from_its_own_stack_first_and_then_from_the_first_on) {
  auto* const own = put(2 * kib, 1);
  auto* const same_size_elsewhere = put(2 * kib, 0);
  auto* const smaller = put(kib, 1);
  auto* const larger = put(64 * kib, 0);
  auto* const fine_of_second = put(16, 1);
  auto* const fine_of_first = put(16, 0);
  for (auto* const expected : {own, fine_of_first, fine_of_second, smaller, same_size_elsewhere, larger})
    EXPECT_EQ(get(2 * kib, 1), expected);
  EXPECT_EQ(get(2 * kib, 1), nullptr);
}

}  // namespace
}  // namespace heaplab::scalloc
