#include <gtest/gtest.h>

#include <barrier>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "heaplab/local/local.h"

namespace heaplab::local {
namespace {

struct block {
  unsigned char* start = nullptr;
  std::size_t bytes = 0;
  unsigned char fill = 0;
};

template <class Source>
class threads_test : public testing::Test {};

using kinds =
    testing::Types<multipool<counting<>, std::mutex>, multipool_over_monotonic<counting<>, std::mutex>,
                   resource<multipool<counting<>, std::mutex>>>;
TYPED_TEST_SUITE(threads_test, kinds);

// Each thread fills the slots it owns this round and empties those its neighbour filled in the last one.
TYPED_TEST(threads_test, threads_share_one_source_and_free_each_others_blocks) {
  constexpr int threads = 4;
  constexpr int slots = 200;
  constexpr int rounds = 30;
  counting<> upstream;
  TypeParam source({}, upstream);
  std::vector<std::vector<block>> shared(threads, std::vector<block>(slots));
  std::barrier round_end(threads);
  const auto work = [&](int self) {
    std::minstd_rand random(static_cast<unsigned>(self) + 1);
    for (int round = 0; round < rounds; ++round) {
      for (block& each : shared[static_cast<std::size_t>((self + round) % threads)]) {
        if (each.start != nullptr) {
          for (std::size_t i = 0; i < each.bytes; ++i) ASSERT_EQ(each.start[i], each.fill);
          source.deallocate(each.start, each.bytes, 8);
        }
        each.bytes = random() % 40 == 0 ? 5000 : 1 + random() % 300;
        each.fill = static_cast<unsigned char>(random());
        each.start = static_cast<unsigned char*>(source.allocate(each.bytes, 8));
        std::memset(each.start, each.fill, each.bytes);
      }
      round_end.arrive_and_wait();
    }
  };
  {
    std::vector<std::jthread> all;
    for (int self = 0; self < threads; ++self) all.emplace_back(work, self);
  }
  source.release();
  EXPECT_EQ(upstream.counts().live_bytes, 0);
}

}  // namespace
}  // namespace heaplab::local
