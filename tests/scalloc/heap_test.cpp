// The heap as a whole, without being the malloc of the process.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "allocators/scalloc/scalloc_heap.h"

namespace heaplab::scalloc {
namespace {

constexpr config standard_config = standard();
constexpr config shared_config = clab();

template <class Heap>
class heap : public testing::Test {};
using heaps = testing::Types<scalloc_heap<standard_config>, scalloc_heap<shared_config>>;
TYPED_TEST_SUITE(heap, heaps);

// Under the thread sanitizer: whoever asks for statistics races with nobody.
TYPED_TEST(heap, tells_its_statistics_while_others_allocate) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 2; ++thread)
    threads.emplace_back([&] {
      while (!stop.load())
        for (const std::size_t size : {40UL, 3000UL, 50'000UL, 600'000UL, 3'000'000UL}) {
          void* blocks[20];
          for (void*& block : blocks) block = TypeParam::allocate(size);
          for (void* const block : blocks) TypeParam::deallocate(block);
        }
    });
  for (unsigned times = 0; times < 200; ++times) {
    const heap_statistics now = TypeParam::statistics();
    EXPECT_LE(now.committed, now.reserved);
    std::this_thread::yield();
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace heaplab::scalloc
