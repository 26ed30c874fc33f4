#include "recorder/live_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "check/run_threads.h"

namespace heaplab::recorder {
namespace {

using trace::raw_chunk;
using trace::raw_live_block;

raw_live_block block_at(std::uint64_t address, std::uint64_t size) {
  return {trace::pack(address, trace::kind::malloc, 0), size, address + 1};
}

// A table with the memory of its levels.
class levels {
public:
  bool add() {
    const std::size_t bytes = table.next_bytes();
    auto* const level = static_cast<raw_chunk*>(std::aligned_alloc(sizeof(trace::raw_bucket), bytes));
    std::fill_n(reinterpret_cast<char*>(level), bytes, '\0');
    level->bytes = static_cast<std::uint32_t>(bytes);
    const std::lock_guard hold(lock_);
    memory_.emplace_back(level, std::free);
    return table.add(level);
  }

  void put(const raw_live_block& block) {
    while (!table.put(block)) ASSERT_TRUE(add());
  }

  // As at the end of a recording.
  void take_memory_back() {
    for (const auto& level : memory_) std::fill_n(reinterpret_cast<char*>(level.get()), level->bytes, '\0');
  }

  // Everything in the table, as its reader after the recording finds it.
  std::map<std::uint64_t, std::uint64_t> found() const {
    std::map<std::uint64_t, std::uint64_t> all;
    for (const auto& level : memory_)
      for (std::size_t place = 1; place <= trace::buckets_of(*level); ++place)
        for (const raw_live_block& entry :
             reinterpret_cast<const trace::raw_bucket*>(level.get())[place].blocks)
          if (entry.what != 0 && !all.emplace(trace::address_in(entry.what), entry.size).second)
            ADD_FAILURE() << "twice: " << entry.what;
    return all;
  }

  std::size_t bytes() const {
    std::size_t all = 0;
    for (const auto& level : memory_) all += level->bytes;
    return all;
  }

  live_table table;

private:
  std::mutex lock_;
  std::vector<std::unique_ptr<raw_chunk, decltype(&std::free)>> memory_;
};

TEST(live_table, agrees_with_a_map) {
  levels kept;
  std::map<std::uint64_t, std::uint64_t> model;
  std::mt19937_64 random(7);
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t address = 0x7f0000000000 + 8 * (random() % 40'000 + 1);
    const auto known = model.find(address);
    const auto taken = kept.table.take(address);
    ASSERT_EQ(taken.has_value(), known != model.end()) << step;
    if (taken) {
      ASSERT_EQ(taken->size, known->second);
      ASSERT_EQ(taken->site, address + 1);
      model.erase(known);
    } else {
      model[address] = random() % 1000;
      kept.put(block_at(address, model[address]));
    }
  }
  EXPECT_EQ(kept.found(), model);
}

TEST(live_table, needs_less_than_a_hundred_bytes_for_a_block) {
  levels kept;
  constexpr std::size_t blocks = 1'000'000;
  for (std::uint64_t number = 1; number <= blocks; ++number) kept.put(block_at(48 * number, 40));
  EXPECT_LT(kept.bytes(), 100 * blocks);
}

TEST(live_table, has_a_last_level) {
  live_table table;
  raw_chunk level{};
  level.bytes = trace::raw_unit;
  unsigned added = 0;
  while (table.add(&level)) ++added;
  EXPECT_GE(added, 10U);
  EXPECT_EQ(table.next_bytes(), 0U);
  EXPECT_FALSE(table.add(&level));
}

TEST(live_table, whose_memory_was_taken_back_has_no_room_and_no_blocks) {
  levels kept;
  kept.put(block_at(64, 1));
  kept.take_memory_back();
  EXPECT_FALSE(kept.table.put(block_at(128, 1)));
  EXPECT_FALSE(kept.table.take(64).has_value());
}

// Threads hand blocks over through a mailbox; each takes what another has put.
TEST(live_table, threads_take_what_others_have_put) {
  constexpr unsigned threads = 4;
  levels kept;
  std::atomic<std::uint64_t> mailbox[32]{};
  check::run_threads(threads, [&](unsigned thread) {
    std::mt19937 random(thread);
    for (std::uint64_t step = 1; step <= 50'000; ++step) {
      const std::uint64_t address = 64 * (step * threads + thread);
      kept.put(block_at(address, step));
      const std::uint64_t other = mailbox[random() % 32].exchange(address);
      if (other != 0 && !kept.table.take(other)) ADD_FAILURE() << other;
    }
  });
  std::size_t left = 0;
  for (const auto& place : mailbox) left += place.load() != 0 ? 1 : 0;
  EXPECT_EQ(kept.found().size(), left);
}

}  // namespace
}  // namespace heaplab::recorder
