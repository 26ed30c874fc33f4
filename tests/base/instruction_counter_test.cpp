#include "base/instruction_counter.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace heaplab {
namespace {

perf_event_mmap_page page_of(std::int64_t offset, std::uint32_t index) {
  perf_event_mmap_page page{};
  page.offset = offset;
  page.index = index;
  page.cap_user_rdpmc = 1;
  page.pmc_width = 48;
  return page;
}

TEST(instruction_counter, adds_the_counter_of_the_processor_to_the_kernels_count) {
  const auto page = page_of(1000, 3);
  EXPECT_EQ(count_in(page, [](std::uint32_t index) -> std::uint64_t { return index == 2 ? 77 : 0; }), 1077U);
}

TEST(instruction_counter, extends_the_sign_of_a_counter_that_the_kernel_began_below_zero) {
  const auto page = page_of(1000, 1);
  constexpr std::uint64_t minus_ten = (std::uint64_t{1} << 48) - 10;
  EXPECT_EQ(count_in(page, [](std::uint32_t) { return minus_ten; }), 990U);
}

TEST(instruction_counter, takes_the_kernels_count_alone_while_the_thread_has_no_counter) {
  const auto page = page_of(1000, 0);
  EXPECT_EQ(count_in(page, [](std::uint32_t) -> std::uint64_t { return 5; }), 1000U);
}

TEST(instruction_counter, reads_again_if_the_kernel_changed_the_page_meanwhile) {
  auto page = page_of(1000, 1);
  int reads = 0;
  const std::uint64_t found = count_in(page, [&](std::uint32_t) -> std::uint64_t {
    if (++reads == 1) {
      page.lock += 1;
      page.offset = 2000;
    }
    return 5;
  });
  EXPECT_EQ(found, 2005U);
  EXPECT_EQ(reads, 2);
}

TEST(instruction_counter, grows_with_the_work_of_its_thread_alone) {
  instruction_counter counter;
  if (!counter.open()) GTEST_SKIP() << "the system lends no counter: " << std::strerror(errno);
  std::thread([] {
    for (volatile int i = 0; i < 10'000'000;) i = i + 1;
  }).join();
  EXPECT_LT(counter.take(), 5'000'000U);
  for (volatile int i = 0; i < 1'000'000;) i = i + 1;
  EXPECT_GT(counter.take(), 2'000'000U);
  counter.close();
  EXPECT_EQ(counter.take(), 0U);
}

}  // namespace
}  // namespace heaplab
