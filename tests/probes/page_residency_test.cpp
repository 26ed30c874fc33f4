#include "probes/page_residency.h"

#include <gtest/gtest.h>

#include "base/os_pages.h"
#include "support/residency.h"

namespace heaplab {
namespace {

TEST(page_residency, knows_pages_that_were_touched_and_given_back) {
  if (!testing::own_pages_are_told()) GTEST_SKIP() << "an emulator runs this";
  constexpr std::size_t pages = 5000;  // more than are read at a time
  const std::size_t bytes = os_pages::page_bytes();
  auto* const start = static_cast<char*>(os_pages::allocate(pages * bytes));
  ASSERT_NE(start, nullptr);
  os_pages::advise_huge(start, pages * bytes, false);
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(start) / bytes;
  probes::page_residency residency;
  EXPECT_EQ(residency.resident(first, pages), 0);
  for (const std::size_t touched : {0, 7, 2047, 2048, 4999}) start[touched * bytes] = 1;
  residency.look_again();
  EXPECT_EQ(residency.resident(first, pages), 5);
  EXPECT_EQ(residency.resident(first + 8, 2040), 1);
  EXPECT_EQ(residency.resident(first, 0), 0);
  EXPECT_TRUE(residency.is_resident(first + 7));
  EXPECT_FALSE(residency.is_resident(first + 8));
  EXPECT_TRUE(residency.is_resident(first + 4999));
  os_pages::purge(start, pages * bytes);
  residency.look_again();
  EXPECT_EQ(residency.resident(first, pages), 0);
  os_pages::unmap(start, pages * bytes);
}

}  // namespace
}  // namespace heaplab
