#include "base/instruction_counter.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "check/children.h"

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
  EXPECT_EQ(count_in(page, [](std::uint32_t index) -> std::uint64_t { return index == 3 ? 77 : 0; }), 1077U);
}

TEST(instruction_counter, extends_the_sign_of_a_counter_that_the_kernel_began_below_zero) {
  const auto page = page_of(1000, 1);
  constexpr std::uint64_t minus_ten = (std::uint64_t{1} << 48) - 10;
  EXPECT_EQ(count_in(page, [](std::uint32_t) { return minus_ten; }), 990U);
}

TEST(instruction_counter, knows_the_bits_that_count_from_the_page) {
  auto page = page_of(1000, 1);
  page.pmc_width = 32;
  EXPECT_EQ(count_in(page, [](std::uint32_t) { return 0x7FFF'FFFF'FFFF'FFFE; }), 998U);
  page.pmc_width = 64;
  EXPECT_EQ(count_in(page, [](std::uint32_t) { return std::uint64_t{1} << 62; }),
            (std::uint64_t{1} << 62) + 1000);
}

TEST(instruction_counter, tells_nothing_of_an_event_that_user_space_cannot_read) {
  const auto five = [](std::uint32_t) -> std::uint64_t { return 5; };
  EXPECT_EQ(count_in(page_of(1000, 0), five), std::nullopt);
  auto page = page_of(1000, 1);
  page.cap_user_rdpmc = 0;
  EXPECT_EQ(count_in(page, five), std::nullopt);
}

TEST(instruction_counter, reads_again_if_the_kernel_changed_the_page_meanwhile) {
  auto page = page_of(1000, 1);
  int reads = 0;
  const auto found = count_in(page, [&](std::uint32_t) -> std::uint64_t {
    if (++reads == 1) {
      page.lock += 1;
      page.offset = 2000;
    }
    return 5;
  });
  EXPECT_EQ(found, 2005U);
  EXPECT_EQ(reads, 2);
}

// Executes twice as many instructions as rounds, and the call.
void execute(std::uint64_t rounds) {
#if defined(__x86_64__)
  asm volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
#elif defined(__aarch64__)
  asm volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
#endif
}

// The instructions beside the loop that one call of counted_in executes between two readings.
constexpr std::uint64_t overhead = 1000;

std::uint64_t counted_in(instruction_counter& counter, std::uint64_t rounds) {
  EXPECT_TRUE(counter.take());
  execute(rounds);
  return counter.take().value_or(0);
}

// An interrupt on x86-64 counts as an instruction: one part in 10,000 covers more of them than any kernel
// makes.
bool is_count_of(std::uint64_t counted, std::uint64_t rounds) {
  std::printf("%" PRIu64 " rounds: %" PRIu64 " instructions\n", rounds, counted);
  return counted >= 2 * rounds && counted <= 2 * rounds + overhead + rounds / 5000;
}

// What needs a counter of the machine. tools/test_emulated.sh runs these tests where there is one.
class instruction_counter_lent : public testing::Test {
protected:
  void SetUp() override {
    if (!counter_.open()) GTEST_SKIP() << "the system lends no counter: " << std::strerror(errno);
  }
  ~instruction_counter_lent() override { counter_.close(); }

  instruction_counter counter_;
};

// The last count lets a counter of 32 bits, which the kernel starts at half, overflow.
TEST_F(instruction_counter_lent, counts_each_instruction) {
  for (const std::uint64_t rounds : {1, 1000, 1'000'000, 2'000'000, 1'200'000'000})
    EXPECT_TRUE(is_count_of(counted_in(counter_, rounds), rounds));
}

TEST_F(instruction_counter_lent, counts_nothing_once_it_is_closed) {
  counter_.close();
  execute(1000);
  EXPECT_EQ(counter_.take(), 0U);
}

TEST_F(instruction_counter_lent, counts_its_own_thread_while_others_take_turns) {
  constexpr std::uint64_t rounds = 20'000'000;
  const auto count = [](std::uint64_t times) {
    instruction_counter mine;
    ASSERT_TRUE(mine.open());
    EXPECT_TRUE(is_count_of(counted_in(mine, times * rounds), times * rounds));
    mine.close();
  };
  EXPECT_TRUE(counter_.take());
  std::thread first(count, 1), second(count, 2), third(count, 3);
  first.join();
  second.join();
  third.join();
  EXPECT_LT(counter_.take().value(), rounds / 10);
}

TEST_F(instruction_counter_lent, counts_a_child_of_fork_by_the_counter_of_the_child) {
  constexpr std::uint64_t rounds = 10'000'000;
  EXPECT_TRUE(counter_.take());
  const pid_t child = ::fork();
  if (child == 0) {
    instruction_counter its_own;
    std::_Exit(its_own.open() && is_count_of(counted_in(its_own, rounds), rounds) ? 0 : 1);
  }
  EXPECT_EQ(check::status_of(child), 0);
  EXPECT_LT(counter_.take().value(), rounds / 10);
}

// Takes the counters of the processor for whatever runs there: the events of a processor go before those of
// threads.
class counters_of_processors {
public:
  // False: no further counter can be had.
  bool take_one_of_each() {
    perf_event_attr wanted{};
    wanted.size = sizeof wanted;
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
    wanted.pinned = 1;
    for (long processor = 0; processor < ::sysconf(_SC_NPROCESSORS_ONLN); ++processor) {
      const long event =
          ::syscall(SYS_perf_event_open, &wanted, -1, static_cast<int>(processor), -1, PERF_FLAG_FD_CLOEXEC);
      if (event < 0) return false;
      events_.push_back(static_cast<int>(event));
    }
    return events_.size() < most_counters * static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  }
  ~counters_of_processors() {
    for (const int event : events_) ::close(event);
  }

private:
  static constexpr std::size_t most_counters = 64;
  std::vector<int> events_;
};

TEST_F(instruction_counter_lent, tells_that_the_system_has_taken_it_away) {
  counters_of_processors others;
  if (!others.take_one_of_each())
    GTEST_SKIP() << "only root may count on a processor: " << std::strerror(errno);
  bool counts = true;
  for (bool more = true; more && counts; counts = counter_.take().has_value())
    more = others.take_one_of_each();
  EXPECT_FALSE(counts);
  EXPECT_EQ(counter_.take(), 0U);
  instruction_counter another;
  EXPECT_FALSE(another.open());
  EXPECT_EQ(errno, ENOTSUP);
}

}  // namespace
}  // namespace heaplab
