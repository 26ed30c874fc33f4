// Holes of spans with colors: the first block of each span begins elsewhere.
#include <set>

#include "scalloc/sweep_of.h"

namespace heaplab::scalloc::testing {
namespace {

// 64 blocks of 240 bytes begin at one of 64 places, and reach into a fifth page from some.
constexpr config colored_blocks = [] {
  config result = paged_config<64>();
  result.fine_span_bytes = result.coarse_span_bytes = 32 * kib;
  result.linear_class_limit = result.fine_block_limit = result.span_block_limit = 240;
  result.color_from_bytes = 240;
  result.color_page_from_bytes = 0;
  return result;
}();

// What the test knows of the places of blocks comes from their addresses alone.
class colored_holes : public sweep_of<colored_blocks> {
protected:
  static constexpr unsigned spans = 20, blocks = 64, bytes = 240;

  std::size_t page_of(unsigned block, std::size_t byte) {
    const char* const base = tested_->span_of(tested_->blocks[block]).base;
    return static_cast<std::size_t>(static_cast<char*>(tested_->blocks[block]) + byte - base) /
           os_pages::page_bytes();
  }
  // The first block from `block` on that lies in two pages.
  unsigned across_pages(unsigned block) {
    while (page_of(block, 0) == page_of(block, bytes - 1)) ++block;
    return block;
  }
};

TEST_F(colored_holes, are_the_pages_that_no_live_block_touches) {
  tested_->fill(spans * blocks + 1);
  const std::set<void*> known(tested_->blocks.begin(), tested_->blocks.end());
  std::set<std::uint32_t> colors;
  for (unsigned first = 0; first < spans * blocks; first += blocks) {
    const unsigned live = across_pages(first + 5 + first / blocks);
    release(first, live), release(live + 1, first + blocks);
    colors.insert(tested_->span_of(tested_->blocks[first]).color);
  }
  EXPECT_GT(colors.size(), spans / 2);
  EXPECT_TRUE(tested_->holes.sweep_all());
  for (unsigned first = 0; first < spans * blocks; first += blocks) {
    const unsigned live = across_pages(first + 5 + first / blocks), last = first + blocks - 1;
    // The page of the block freed last has the list.
    const std::set<std::size_t> kept{page_of(live, 0), page_of(live, bytes - 1), page_of(last, 0)};
    EXPECT_EQ(pages_with_memory(first), kept.size()) << first;
    const std::size_t pages = page_of(last, bytes - 1) + 1;
    EXPECT_LT(holes_around(first), 1U << pages) << "a page without blocks counts as a hole";
  }
  for (unsigned step = 0; step < blocks - 1; ++step) tested_->take(0);  // of the hot span
  for (unsigned step = 0; step < spans * (blocks - 1); ++step) EXPECT_TRUE(known.contains(tested_->take(0)));
  expect_spans_in_use(spans + 1);
  tested_->check_all();
}

}  // namespace
}  // namespace heaplab::scalloc::testing
