// The one thread of a program, which moves spans without atomic read-modify-writes, beside the background
// purge thread, which looks at them. The thread sanitizer sees whether that thread may read what it reads.
#include <gtest/gtest.h>

#include <thread>

#include "concurrent/sync.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

struct alone_sync : concurrent::std_sync {
  static bool is_alone() { return true; }
};

constexpr config four_blocks = small_config<4>();

TEST(alone, a_word_that_moves_publishes_what_a_sweep_reads_of_the_span) {
  small_heap<alone_sync, four_blocks> heap(1);
  // Until then the sweep knows nothing of what the thread does.
  std::uint32_t fresh = 0;
  std::jthread sweep([&] {
    const auto& span = heap.life.arena.span_number(0);
    while (span.load_word(std::memory_order_acquire).state() != span_state::floating)
      std::this_thread::yield();
    fresh = span.fresh;
  });
  heap.take(0, 5);
  ASSERT_EQ(heap.state_of(heap.blocks[0]), span_state::floating);
  sweep.join();
  EXPECT_EQ(fresh, 4U);
}

}  // namespace
}  // namespace heaplab::scalloc::testing
