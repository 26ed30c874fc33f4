#include "probes/own_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace heaplab::probes {
namespace {

TEST(own_pages, are_counted_while_they_live) {
  const std::size_t before = own_pages_total();
  {
    own_pages pages(10'000);
    EXPECT_EQ(own_pages_total(), before + 3 * 4096);
    own_pages moved(std::move(pages));
    EXPECT_EQ(own_pages_total(), before + 3 * 4096);
  }
  EXPECT_EQ(own_pages_total(), before);
}

TEST(own_pages, are_resident_from_the_start) {
  own_pages pages(std::size_t{1} << 20);
  std::vector<unsigned char> resident(256);
  ASSERT_EQ(::mincore(&pages.object<char>(), pages.bytes(), resident.data()), 0);
  for (const unsigned char page : resident) EXPECT_EQ(page & 1, 1);
}

TEST(own_pages, give_every_array_its_own_cache_lines) {
  own_pages pages(4096);
  const auto line = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address) / 64; };
  const auto first = pages.array<char>(65);
  const auto second = pages.array<char>(1);
  const auto third = pages.array<char>(1);
  EXPECT_GT(line(second.data()), line(&first.back()));
  EXPECT_GT(line(third.data()), line(second.data()));
}

TEST(own_pages, refuse_what_does_not_fit) {
  own_pages pages(4096);
  EXPECT_THROW(pages.array<std::uint64_t>(513), std::bad_alloc);
  EXPECT_THROW(pages.array<std::uint64_t>(SIZE_MAX / 4), std::bad_alloc);
  EXPECT_EQ(pages.array<std::uint64_t>(512).size(), 512U);
  EXPECT_EQ(pages.left(), 0U);
  EXPECT_THROW(pages.array<char>(1), std::bad_alloc);
}

TEST(own_pages, refuse_more_than_the_system_has) {
  EXPECT_THROW(own_pages(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(own_pages(SIZE_MAX / 2), std::bad_alloc);
}

TEST(own_pages, needed_is_enough) {
  for (const std::size_t count : {1U, 7U, 8U, 9U, 1000U}) {
    own_pages pages(own_pages::needed<std::uint64_t>(count) + own_pages::needed<char>(count));
    pages.array<char>(count);
    EXPECT_EQ(pages.array<std::uint64_t>(count).size(), count);
  }
}

}  // namespace
}  // namespace heaplab::probes
