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
struct cached_scene {
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

void expect_sound(cached_scene& scene, std::vector<std::function<void()>> threads, unsigned preemptions = 3) {
  const explore::outcome result =
      explore::explorer({[&] { scene.start(); }, std::move(threads), [&] { scene.check(); },
                         [&] { scene.heap->check_step(scene.live); }},
                        {.preemptions = preemptions})
          .explore();
  EXPECT_FALSE(result.failed) << result.what << " in run " << result.runs;
  EXPECT_GE(result.runs, 2U);  // two threads that meet nowhere run in both orders
}

TEST(cached_blocks_interleavings, a_cached_block_against_the_other_frees_of_its_span) {
  cached_scene scene;
  expect_sound(scene, {[&] { scene.free(0, 0); }, [&] { scene.free(1, 1); }});
}

TEST(cached_blocks_interleavings, a_cached_block_that_is_allocated_against_the_other_frees_of_its_span) {
  cached_scene scene;
  expect_sound(scene, {[&] { scene.free(0, 0), scene.allocate(0); }, [&] { scene.free(1, 1); }});
}

TEST(cached_blocks_interleavings, a_cached_block_against_frees_of_the_hot_span) {
  cached_scene scene;
  expect_sound(scene,
               {[&] { scene.free(0, 0), scene.free(0, 3), scene.allocate(0); }, [&] { scene.free(1, 2); }});
}

TEST(cached_blocks_interleavings, a_block_that_found_no_room_against_the_last_free) {
  cached_scene scene;
  expect_sound(scene, {[&] { scene.free(0, 3), scene.free(0, 0); }, [&] { scene.free(1, 1); }});
}

TEST(cached_blocks_interleavings, the_retirement_of_the_hot_span) {
  cached_scene scene;
  expect_sound(scene,
               {[&] { scene.free(0, 0), scene.allocate(0), scene.allocate(0); }, [&] { scene.free(1, 1); },
                [&] { scene.free(2, 2), scene.free(2, 3); }},
               2);
}

TEST(cached_blocks_interleavings, cached_blocks_that_are_returned_against_the_last_free) {
  cached_scene scene;
  expect_sound(scene,
               {[&] { scene.free(0, 0), scene.heap->front.return_cached_blocks(*scene.heap->labs[0]); },
                [&] { scene.free(1, 1); }});
}

TEST(cached_blocks_interleavings, the_end_of_a_thread_with_cached_blocks_against_the_last_free) {
  cached_scene scene;
  expect_sound(scene, {[&] { scene.free(0, 0), scene.heap->end_thread(0); }, [&] { scene.free(1, 1); }});
}

TEST(cached_blocks_interleavings, the_next_owner_of_a_span_against_frees_of_the_former) {
  cached_scene scene;
  expect_sound(scene, {[&] { scene.free(0, 2), scene.allocate(0), scene.free(0, 3); },
                       [&] { scene.free(1, 0), scene.free(1, 1), scene.allocate(1); }});
}

TEST(cached_blocks_interleavings, the_end_of_a_thread_against_the_next_owner_of_its_span) {
  cached_scene scene;
  expect_sound(
      scene,
      {[&] { scene.heap->end_thread(0); }, [&] { scene.free(1, 1), scene.allocate(1), scene.allocate(1); }},
      2);
}

}  // namespace
}  // namespace heaplab::scalloc::testing
