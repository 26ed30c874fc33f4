// Cached blocks of a hot span against frees by other threads, in every interleaving.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "explore/explorer.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

using explore::explored_sync;

constexpr config one_cached_block = caching_config<2>(1, 1);

// Thread 0 has one floating span, blocks 0 and 1, and a hot and dry one, blocks 2 and 3.
struct scene {
  using heap_type = small_heap<explored_sync, one_cached_block>;
  std::optional<heap_type> heap;
  std::vector<void*> blocks;
  std::set<void*> live;

  void start() {
    heap.reset();
    heap.emplace(3);
    blocks.clear();
    for (unsigned step = 0; step < 4; ++step) blocks.push_back(heap->allocate(0));
    live = {blocks.begin(), blocks.end()};
  }
  void free(unsigned thread, unsigned index) {
    live.erase(blocks[index]);
    heap->free(thread, blocks[index]);
  }
  void allocate(unsigned thread) { live.insert(heap->allocate(thread)); }
  // The number of live blocks is counted over all spans, cached blocks as blocks of the hot span that came
  // back.
  void check() { heap->check(live); }
};

void expect_sound(scene& it, std::vector<std::function<void()>> threads, unsigned preemptions = 3) {
  const explore::outcome result =
      explore::explorer({[&] { it.start(); }, std::move(threads), [&] { it.check(); },
                         [&] { it.heap->check_step(it.live); }},
                        {.preemptions = preemptions})
          .explore();
  EXPECT_FALSE(result.failed) << result.what << " in run " << result.runs;
  EXPECT_GE(result.runs, 2U);  // two threads that meet nowhere run in both orders
}

TEST(cached_blocks_interleavings, a_cached_block_against_the_other_frees_of_its_span) {
  scene it;
  expect_sound(it, {[&] { it.free(0, 0); }, [&] { it.free(1, 1); }});
}

TEST(cached_blocks_interleavings, a_cached_block_that_is_allocated_against_the_other_frees_of_its_span) {
  scene it;
  expect_sound(it, {[&] { it.free(0, 0), it.allocate(0); }, [&] { it.free(1, 1); }});
}

TEST(cached_blocks_interleavings, a_cached_block_against_frees_of_the_hot_span) {
  scene it;
  expect_sound(it, {[&] { it.free(0, 0), it.free(0, 3), it.allocate(0); }, [&] { it.free(1, 2); }});
}

TEST(cached_blocks_interleavings, a_block_that_found_no_room_against_the_last_free) {
  scene it;
  expect_sound(it, {[&] { it.free(0, 3), it.free(0, 0); }, [&] { it.free(1, 1); }});
}

TEST(cached_blocks_interleavings, the_retirement_of_the_hot_span) {
  scene it;
  expect_sound(it,
               {[&] { it.free(0, 0), it.allocate(0), it.allocate(0); }, [&] { it.free(1, 1); },
                [&] { it.free(2, 2), it.free(2, 3); }},
               2);
}

TEST(cached_blocks_interleavings, cached_blocks_that_are_returned_against_the_last_free) {
  scene it;
  expect_sound(it, {[&] { it.free(0, 0), it.heap->front.return_cached_blocks(*it.heap->labs[0]); },
                    [&] { it.free(1, 1); }});
}

TEST(cached_blocks_interleavings, the_end_of_a_thread_with_cached_blocks_against_the_last_free) {
  scene it;
  expect_sound(it, {[&] { it.free(0, 0), it.heap->end_thread(0); }, [&] { it.free(1, 1); }});
}

TEST(cached_blocks_interleavings, the_next_owner_of_a_span_against_frees_of_the_former) {
  scene it;
  expect_sound(it, {[&] { it.free(0, 2), it.allocate(0), it.free(0, 3); },
                    [&] { it.free(1, 0), it.free(1, 1), it.allocate(1); }});
}

TEST(cached_blocks_interleavings, the_end_of_a_thread_against_the_next_owner_of_its_span) {
  scene it;
  expect_sound(it, {[&] { it.heap->end_thread(0); }, [&] { it.free(1, 1), it.allocate(1), it.allocate(1); }},
               2);
}

}  // namespace
}  // namespace heaplab::scalloc::testing
