// Many threads, blocks that are freed by other threads, and threads that start and end.
#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "base/atomic.h"
#include "check/message.h"
#include "check/run_threads.h"
#include "probes/process_memory.h"

namespace heaplab::check {
namespace {

// Every block goes through a slot that all threads share: most blocks are freed by a thread that did not
// allocate them, while other threads allocate.
TEST(threads, blocks_that_change_hands_keep_their_contents) {
  static atomic<message*> slots[512];
  atomic<unsigned> damaged = 0;
  run_threads(threads_at_work(), [&](unsigned thread) {
    random_engine random(thread + 1);
    for (unsigned i = 0; i < rounds(60000); ++i) {
      // acq_rel: the thread that takes a block sees the contents written by the thread that put the block
      // here.
      message* const taken = slots[random() % 512].exchange(message::make(random), std::memory_order_acq_rel);
      if (taken == nullptr) continue;
      if (!taken->intact()) damaged.fetch_add(1, std::memory_order_relaxed);
      std::free(random() % 8 == 0 ? message::resize(taken, random) : taken);
    }
  });
  for (auto& slot : slots) std::free(slot.exchange(nullptr, std::memory_order_relaxed));
  EXPECT_EQ(damaged.load(std::memory_order_relaxed), 0U);
}

TEST(threads, blocks_outlive_their_thread) {
  for (unsigned round = 0; round < rounds(30); ++round) {
    std::vector<message*> blocks(2000);
    std::thread([&] {
      random_engine random(round + 1);
      for (message*& letter : blocks) letter = message::make(random);
      for (std::size_t i = 0; i < blocks.size(); i += 3) std::free(std::exchange(blocks[i], nullptr));
    }).join();
    run_threads(2, [&](unsigned thread) {
      for (std::size_t i = thread; i < blocks.size(); i += 2) {
        if (blocks[i] == nullptr) continue;
        EXPECT_TRUE(blocks[i]->intact());
        std::free(blocks[i]);
      }
    });
  }
}

// One thread only allocates, the other only frees.
TEST(threads, a_producer_and_a_consumer_do_not_use_up_memory) {
  const heaplab::probes::process_memory memory;
  atomic<message*> ring[64] = {};
  const auto exchange_many = [&](unsigned count) {
    run_threads(2, [&](unsigned thread) {
      random_engine random(thread);
      for (unsigned i = 0; i < count; ++i) {
        atomic<message*>& place = ring[i % 64];
        if (thread == 0) {
          message* const letter = message::make(random);
          while (place.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
          place.store(letter, std::memory_order_release);
        } else {
          while (place.load(std::memory_order_acquire) == nullptr) std::this_thread::yield();
          std::free(place.exchange(nullptr, std::memory_order_acq_rel));
        }
      }
    });
  };
  exchange_many(10000);
  const std::uint64_t before = memory.read().anonymous;
  exchange_many(100000);
  // 100000 blocks are 100 MB.
  EXPECT_LT(memory.read().anonymous, before + (24U << 20));
}

// A thread that touches every size class, and ends with all its blocks freed.
void live_briefly(unsigned seed) {
  void* blocks[40];
  for (unsigned i = 0; i < 40; ++i) {
    const std::size_t size = std::size_t{16} << i % 14;
    blocks[i] = std::malloc(size + seed % 16);
    static_cast<char*>(blocks[i])[size - 1] = 1;
  }
  for (void* const memory : blocks) std::free(memory);
}

TEST(threads, thousands_over_time_leave_no_memory_behind) {
  const heaplab::probes::process_memory memory;
  const auto churn = [](unsigned threads) {
    for (unsigned i = 0; i < threads; i += 4)
      run_threads(4, [&](unsigned thread) { live_briefly(i + thread); });
  };
  churn(100);
  const auto before = memory.read();
  churn(rounds(4000));
  const auto after = memory.read();
  EXPECT_LT(after.anonymous, before.anonymous + (16U << 20));
  EXPECT_LT(after.virtual_size, before.virtual_size + (std::uint64_t{1} << 30));
}

// Frees blocks that another thread has allocated, and leaves as many for that thread to free.
void exchange_blocks(std::vector<void*>& blocks, unsigned seed) {
  for (void*& memory : blocks) {
    std::free(memory);
    memory = std::malloc(std::size_t{16} << (seed + (&memory - blocks.data())) % 14);
    std::memset(memory, 1, 16);
  }
}

// What each thread loses adds up at the same rate for ever. A heap that grows to what it needs, at random or
// not, grows less and less.
TEST(threads, thousands_one_after_the_other_lose_nothing) {
  constexpr std::uint64_t lost_by_each = 128;
  const heaplab::probes::process_memory memory;
  std::vector<void*> blocks(40);
  const unsigned count = rounds(10'000);
  const auto growth = [&] {
    const std::uint64_t before = memory.read().anonymous;
    for (unsigned i = 0; i < count; ++i) {
      std::thread(exchange_blocks, std::ref(blocks), i).join();
      exchange_blocks(blocks, i + 7);
    }
    const std::uint64_t after = memory.read().anonymous;
    return after > before ? after - before : 0;
  };
  growth();
  const auto [least, most] = std::minmax({growth(), growth(), growth(), growth()});
  for (void* const block : blocks) std::free(block);
  EXPECT_FALSE(least > count * lost_by_each && least > most / 2)
      << count << " threads lose " << least << " to " << most << " bytes each time";
}

TEST(threads, five_hundred_at_once_are_served) {
  atomic<unsigned> arrived = 0;
  constexpr unsigned count = 500;
  run_threads(count, [&](unsigned thread) {
    random_engine random(thread + 1);
    message* const mine = message::make(random);
    arrived.fetch_add(1, std::memory_order_relaxed);
    while (arrived.load(std::memory_order_relaxed) < count) std::this_thread::yield();
    EXPECT_TRUE(mine->intact());
    std::free(mine);
  });
}

}  // namespace
}  // namespace heaplab::check
