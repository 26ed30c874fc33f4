#include "probes/off_heap_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace heaplab::probes {
namespace {

TEST(off_heap_pages, are_counted_while_they_live) {
  const std::size_t before = off_heap_pages_total();
  {
    off_heap_pages pages(10'000);
    EXPECT_EQ(off_heap_pages_total(), before + 3 * 4096);
    off_heap_pages moved(std::move(pages));
    EXPECT_EQ(off_heap_pages_total(), before + 3 * 4096);
  }
  EXPECT_EQ(off_heap_pages_total(), before);
}

TEST(off_heap_pages, are_resident_from_the_start) {
  off_heap_pages pages(std::size_t{1} << 20);
  std::vector<unsigned char> resident(256);
  ASSERT_EQ(::mincore(&pages.object<char>(), pages.bytes(), resident.data()), 0);
  for (const unsigned char page : resident) EXPECT_EQ(page & 1, 1);
}

TEST(off_heap_pages, give_every_array_its_own_cache_lines) {
  off_heap_pages pages(4096);
  const auto line = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address) / 64; };
  const auto first = pages.array<char>(65);
  const auto second = pages.array<char>(1);
  const auto third = pages.array<char>(1);
  EXPECT_GT(line(second.data()), line(&first.back()));
  EXPECT_GT(line(third.data()), line(second.data()));
}

TEST(off_heap_pages, refuse_what_does_not_fit) {
  off_heap_pages pages(4096);
  EXPECT_THROW(pages.array<std::uint64_t>(513), std::bad_alloc);
  EXPECT_THROW(pages.array<std::uint64_t>(SIZE_MAX / 4), std::bad_alloc);
  EXPECT_EQ(pages.array<std::uint64_t>(512).size(), 512U);
  EXPECT_EQ(pages.left(), 0U);
  EXPECT_THROW(pages.array<char>(1), std::bad_alloc);
}

TEST(off_heap_pages, refuse_more_than_the_system_has) {
  EXPECT_THROW(off_heap_pages(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(off_heap_pages(SIZE_MAX / 2), std::bad_alloc);
}

TEST(off_heap_pages, needed_is_enough) {
  for (const std::size_t count : {1U, 7U, 8U, 9U, 1000U}) {
    off_heap_pages pages(off_heap_pages::needed<std::uint64_t>(count) + off_heap_pages::needed<char>(count));
    pages.array<char>(count);
    EXPECT_EQ(pages.array<std::uint64_t>(count).size(), count);
  }
}

}  // namespace
}  // namespace heaplab::probes
