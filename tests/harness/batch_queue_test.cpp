// The queue between producers and consumers: nothing is lost, nobody waits for ever, and who waits is not
// woken for every batch.
#include "workloads/harness/batch_queue.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace heaplab::harness {
namespace {

using queue = batch_queue<std::uint64_t>;

void send_one(queue& to, std::uint64_t value) {
  to.send([value](std::span<std::uint64_t> room) {
    room[0] = value;
    return std::size_t{1};
  });
}

TEST(batch_queue, gives_back_what_was_sent_in_order) {
  queue between(3, 2);
  for (std::uint64_t i = 1; i <= 3; ++i) send_one(between, i);
  between.close();
  std::vector<std::uint64_t> got;
  while (between.receive([&](std::span<std::uint64_t> batch) {
    EXPECT_EQ(batch.size(), 1U);
    got.push_back(batch[0]);
  })) {
  }
  EXPECT_EQ(got, (std::vector<std::uint64_t>{1, 2, 3}));
}

void wait_until_asleep(pid_t thread) {
  for (;;) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(file, text);
    if (text.find(") S ") != std::string::npos) return;
    std::this_thread::yield();
  }
}

// Who found the queue empty goes on when half of it is filled, not before.
TEST(batch_queue, wakes_a_waiting_receiver_at_half) {
  queue between(8, 1);
  std::atomic<unsigned> received{0};
  std::atomic<pid_t> receiving{0};
  std::thread receiver([&] {
    receiving = gettid();
    while (between.receive([&](std::span<std::uint64_t>) { ++received; })) {
    }
  });
  while (receiving == 0) std::this_thread::yield();
  wait_until_asleep(receiving);
  for (std::uint64_t i = 0; i < 3; ++i) send_one(between, i);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(received, 0U);
  send_one(between, 3);
  while (received < 4) std::this_thread::yield();
  between.close();
  receiver.join();
}

TEST(batch_queue, wakes_a_waiting_receiver_when_it_is_closed) {
  queue between(8, 1);
  unsigned received = 0;
  std::thread receiver([&] {
    while (between.receive([&](std::span<std::uint64_t>) { ++received; })) {
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  send_one(between, 1);
  between.close();
  receiver.join();
  EXPECT_EQ(received, 1U);
}

class batch_queue_test : public testing::TestWithParam<std::size_t> {};

TEST_P(batch_queue_test, hands_everything_over_between_many_threads) {
  constexpr unsigned senders = 3, receivers = 3;
  constexpr std::uint64_t each = 2'000;
  queue between(GetParam(), 1);
  std::atomic<unsigned> sending{senders};
  std::atomic<std::uint64_t> sum{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < senders; ++i)
    threads.emplace_back([&] {
      for (std::uint64_t value = 1; value <= each; ++value) send_one(between, value);
      if (--sending == 0) between.close();
    });
  for (unsigned i = 0; i < receivers; ++i)
    threads.emplace_back([&] {
      while (between.receive([&](std::span<std::uint64_t> batch) { sum += batch[0]; })) {
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, senders * each * (each + 1) / 2);
}

INSTANTIATE_TEST_SUITE_P(batches, batch_queue_test, testing::Values(1, 2, 3, 16));

}  // namespace
}  // namespace heaplab::harness
