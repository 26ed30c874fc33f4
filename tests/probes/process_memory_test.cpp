#include "probes/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/os_pages.h"
#include "probes/off_heap_pages.h"
#include "probes/small_file.h"

namespace heaplab::probes {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

// Every page of a sparse mapping costs itself and, 2 MiB apart, a page of page tables.
TEST(process_memory, sees_pages_and_page_tables) {
  constexpr std::size_t pages = 64;
  constexpr std::size_t distance = 2 * mib;
  const process_memory memory;
  const memory_reading before = memory.read();
  char* const sparse = static_cast<char*>(::mmap(nullptr, pages * distance, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(sparse, MAP_FAILED);
  ::madvise(sparse, pages * distance, MADV_NOHUGEPAGE);
  // The kernel touches the pages, so that no sanitizer touches its own.
  for (std::size_t i = 0; i < pages; ++i) ASSERT_TRUE(os_pages::populate(sparse + i * distance, 4096));
  const memory_reading after = memory.read();
  ::munmap(sparse, pages * distance);
  EXPECT_NEAR(static_cast<double>(after.anonymous - before.anonymous), pages * 4096.0, 16 * 4096.0);
  EXPECT_GE(after.page_tables - before.page_tables, (pages - 2) * 4096);
  EXPECT_GE(after.virtual_size - before.virtual_size, pages * distance);
}

TEST(process_memory, remembers_the_peak) {
  const process_memory memory;
  {
    off_heap_pages pages(32 * mib);
  }
  const memory_reading after = memory.read();
  EXPECT_GE(after.peak_anonymous(), after.anonymous + 24 * mib);
}

TEST(process_memory, knows_the_proportional_size) {
  if (const auto bytes = proportional_set_size()) {
    const memory_reading reading = process_memory().read();
    EXPECT_GT(*bytes, 0U);
    EXPECT_LE(*bytes, reading.resident + mib);
  }
}

TEST(small_file, finds_numbers) {
  constexpr std::string_view text = "VmPeak:\t 12 kB\nVmPTE:\t      44 kB\n";
  EXPECT_EQ(number_after(text, "\nVmPTE:"), 44U);
  EXPECT_EQ(number_after(text, "VmPeak:"), 12U);
  EXPECT_EQ(number_after(text, "VmHWM:"), std::nullopt);
  EXPECT_EQ(number_after("max\n", ""), std::nullopt);
  EXPECT_EQ(number_after("VmPTE:", "VmPTE:"), std::nullopt);
}

TEST(small_file, is_empty_where_there_is_none) {
  char buffer[16];
  EXPECT_EQ(read_small_file("/proc/self/nothing", buffer, sizeof buffer), "");
  EXPECT_EQ(read_small_file("/proc/self/status", buffer, 5), "Name:");
}

}  // namespace
}  // namespace heaplab::probes
