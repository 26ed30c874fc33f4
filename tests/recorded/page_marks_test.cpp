#include "workloads/replay/page_marks.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace heaplab {
namespace {

using replay::page_marks;

std::vector<std::uintptr_t> pages_of(const page_marks& marks) {
  std::vector<std::uintptr_t> found;
  marks.each([&](std::uintptr_t page) { found.push_back(page); });
  return found;
}

void* at_page(std::uintptr_t page, std::size_t offset = 0) {
  return reinterpret_cast<void*>(page * os_pages::page_bytes() + offset);
}

TEST(page_marks, marks_every_page_that_a_block_touches) {
  page_marks marks;
  const std::size_t bytes = os_pages::page_bytes();
  EXPECT_TRUE(pages_of(marks).empty());
  EXPECT_EQ(marks.resident_bytes(), 0);
  marks.mark(at_page(1000, bytes - 1), 2);    // two pages
  marks.mark(at_page(1001, 7), 1);            // again
  marks.mark(at_page(5, 0), bytes);           // exactly one
  marks.mark(at_page(1'000'000'000, 16), 0);  // an empty block lies somewhere, too
  marks.mark(at_page(70'000), 100 * bytes);
  std::vector<std::uintptr_t> expected{5, 1000, 1001};
  for (std::uintptr_t page = 70'000; page < 70'100; ++page) expected.push_back(page);
  expected.push_back(1'000'000'000);
  EXPECT_EQ(pages_of(marks), expected);
  EXPECT_TRUE(marks.is_marked(1001));
  EXPECT_FALSE(marks.is_marked(999));
  // Three places in the address space: three pages of bits, one or two of groups.
  EXPECT_GE(marks.resident_bytes(), 3 * bytes);
  EXPECT_LE(marks.resident_bytes(), 6 * bytes);
}

TEST(page_marks, loses_no_mark_where_threads_mark_at_the_same_time) {
  page_marks marks;
  constexpr std::uintptr_t each = 20'000, threads = 4;
  std::vector<std::thread> at_work;
  for (std::uintptr_t thread = 0; thread < threads; ++thread)
    at_work.emplace_back([&marks, thread] {
      for (std::uintptr_t i = 0; i < each; ++i) marks.mark(at_page(1 + i * threads + thread), 1);
    });
  for (std::thread& thread : at_work) thread.join();
  EXPECT_EQ(pages_of(marks).size(), each * threads);
}

}  // namespace
}  // namespace heaplab
