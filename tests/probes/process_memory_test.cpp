#include "probes/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/os_pages.h"
#include "probes/off_heap_pages.h"
#include "probes/small_file.h"

namespace heaplab::probes {
namespace {

constexpr std::size_t kib = std::size_t{1} << 10;
constexpr std::size_t mib = kib << 10;

// Every page of a sparse mapping costs itself and, 2 MiB apart, a page of page tables.
TEST(process_memory, sees_pages_and_page_tables) {
  constexpr std::size_t tables = 64;
  constexpr std::size_t distance = 2 * mib;
  constexpr std::size_t bytes_each = 64 * kib;
  const process_memory memory;
  const memory_reading before = memory.read();
  char* const sparse = static_cast<char*>(::mmap(nullptr, tables * distance, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(sparse, MAP_FAILED);
  ::madvise(sparse, tables * distance, MADV_NOHUGEPAGE);
  // The kernel touches the pages, so that a sanitizer touches none for them. The thread sanitizer notes
  // calls, which takes some 20 pages here.
  for (std::size_t i = 0; i < tables; ++i) ASSERT_TRUE(os_pages::populate(sparse + i * distance, bytes_each));
  const memory_reading after = memory.read();
  ::munmap(sparse, tables * distance);
  EXPECT_NEAR(static_cast<double>(after.anonymous - before.anonymous), double{tables * bytes_each},
              256.0 * kib);
  EXPECT_GE(after.page_tables - before.page_tables, (tables - 2) * 4 * kib);
  EXPECT_GE(after.virtual_size - before.virtual_size, tables * distance);
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

TEST(process_memory, small_file_finds_numbers) {
  constexpr std::string_view text = "VmPeak:\t 12 kB\nVmPTE:\t      44 kB\n";
  EXPECT_EQ(number_after(text, "\nVmPTE:"), 44U);
  EXPECT_EQ(number_after(text, "VmPeak:"), 12U);
  EXPECT_EQ(number_after(text, "VmHWM:"), std::nullopt);
  EXPECT_EQ(number_after("max\n", ""), std::nullopt);
  EXPECT_EQ(number_after("VmPTE:", "VmPTE:"), std::nullopt);
}

TEST(process_memory, small_file_is_empty_where_there_is_none) {
  char buffer[16];
  EXPECT_EQ(read_small_file("/proc/self/nothing", buffer, sizeof buffer), "");
  EXPECT_EQ(read_small_file("/proc/self/status", buffer, 5), "Name:");
}

}  // namespace
}  // namespace heaplab::probes
