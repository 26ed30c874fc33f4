// The dangerous transitions of span_state.h, on the real frontend, in every interleaving with two
// preemptions.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "allocators/scalloc/arena/dropped_records.h"
#include "explore/explorer.h"
#include "explore/torn_sync.h"
#include "scalloc/small_heap.h"
#include "support/fake_platform.h"

namespace heaplab::scalloc::testing {
namespace {

using explore::explored_sync;

constexpr config two_blocks = small_config<2>();
constexpr config four_blocks = small_config<4>();
constexpr config no_reuse = small_config<4>(100);
constexpr config span_by_span = [] {
  config result = small_config<4>();
  result.abandon_step = 1;
  return result;
}();
constexpr config sharing = handing_over<4>();
constexpr config lazy_return = small_config<2>(50, false);
constexpr config no_adoption = [] {
  config result = small_config<4>();
  result.adopt_on_free = false;
  return result;
}();

// Retains the memory of two spans, and while there is a helper of all. A span has one block.
constexpr std::size_t span_memory = 256;
constexpr config retaining = [] {
  config result = small_config<1>();
  result.purge_above = 0;
  result.idle_purge_bytes = 2 * span_memory;
  result.retains_beyond_bound = true;
  result.retained_span_bytes = 2 * span_memory;
  result.retained_fine_divisor = 1'000;
  return result;
}();

// Others may run before pages go.
struct explored_platform : fake_platform {
  static inline bool has_helper = false;
  static bool purge(void* address, std::size_t bytes) {
    if (explore::explorer* const running = explore::explorer::running()) running->point();
    return fake_platform::purge(address, bytes);
  }
};

// A heap and the blocks its threads share, made anew for every run. Its clock stands still.
template <class Sync, const config& Config>
struct scene_of {
  using heap_type = small_heap<Sync, Config, explored_platform>;
  std::optional<heap_type> heap;
  std::vector<void*> blocks;
  std::set<void*> live;

  void start(unsigned threads) {
    heap.reset();
    heap.emplace(threads);
    blocks.clear();
    live.clear();
  }
  // Blocks of thread 0, from as many spans as it takes.
  void fill(unsigned count) {
    for (unsigned step = 0; step < count; ++step) blocks.push_back(heap->allocate(0));
    live.insert(blocks.begin(), blocks.end());
  }
  void free(unsigned thread, unsigned index) {
    live.erase(blocks[index]);
    heap->free(thread, blocks[index]);
  }
  void allocate(unsigned thread) { live.insert(heap->allocate(thread)); }
};

template <const config& Config>
using parts_of = test_traits<explored_sync, Config, explored_platform>;

template <class Scene>
explore::outcome explore_scene(Scene& scene, std::function<void()> setup,
                               std::vector<std::function<void()>> threads, unsigned preemptions = 2) {
  const auto check = [&scene] { scene.heap->check(scene.live); };
  const auto invariant = [&scene] { scene.heap->check_step(scene.live); };
  return explore::explorer({std::move(setup), std::move(threads), check, invariant},
                           {.preemptions = preemptions})
      .explore();
}

template <class Scene>
void expect_sound(Scene& scene, std::function<void()> setup, std::vector<std::function<void()>> threads,
                  unsigned preemptions = 2) {
  const explore::outcome result = explore_scene(scene, std::move(setup), std::move(threads), preemptions);
  EXPECT_FALSE(result.failed) << result.what << " in run " << result.runs;
  EXPECT_GT(result.runs, 10U);
  ::testing::Test::RecordProperty("runs", static_cast<int>(result.runs));
}

// The owner retires a full hot span while others free its blocks: who comes last must return it.
template <class Sync>
explore::outcome last_remote_free_against_retire() {
  scene_of<Sync, two_blocks> scene;
  return explore_scene(scene, [&] { scene.start(3), scene.fill(2); },
                       {[&] { scene.allocate(0); }, [&] { scene.free(1, 0); }, [&] { scene.free(2, 1); }});
}

TEST(interleavings, last_remote_free_against_retire) {
  const explore::outcome result = last_remote_free_against_retire<explored_sync>();
  EXPECT_FALSE(result.failed) << result.what;
}

// A floating span, one block freed by its owner and one by another thread at once.
template <class Sync>
explore::outcome local_against_remote_last_free() {
  scene_of<Sync, two_blocks> scene;
  return explore_scene(
      scene, [&] { scene.start(2), scene.fill(3); }, {[&] { scene.free(0, 0); }, [&] { scene.free(1, 1); }},
      3);
}

TEST(interleavings, local_against_remote_last_free) {
  const explore::outcome result = local_against_remote_last_free<explored_sync>();
  EXPECT_FALSE(result.failed) << result.what;
}

TEST(interleavings, local_against_two_remote_frees) {
  scene_of<explored_sync, four_blocks> scene;
  expect_sound(scene, [&] { scene.start(3), scene.fill(5), scene.free(0, 3); },
               {[&] { scene.free(0, 0); }, [&] { scene.free(1, 1); }, [&] { scene.free(2, 2); }});
}

TEST(interleavings, local_frees_over_both_thresholds_against_a_remote_one) {
  scene_of<explored_sync, four_blocks> scene;
  expect_sound(
      scene, [&] { scene.start(2), scene.fill(5); },
      {[&] { scene.free(0, 0), scene.free(0, 1), scene.free(0, 2); }, [&] { scene.free(1, 3); }}, 3);
}

TEST(interleavings, frees_without_reuse) {
  scene_of<explored_sync, no_reuse> scene;
  expect_sound(
      scene, [&] { scene.start(2), scene.fill(5), scene.free(0, 2); },
      {[&] { scene.free(0, 0), scene.free(0, 3); }, [&] { scene.free(1, 1); }}, 3);
}

// A reusable span is taken by its owner while its last block is freed.
TEST(interleavings, reuse_against_all_free) {
  scene_of<explored_sync, two_blocks> scene;
  expect_sound(
      scene, [&] { scene.start(2), scene.fill(4), scene.free(0, 0); },
      {[&] { scene.allocate(0), scene.allocate(0); }, [&] { scene.free(1, 1); }}, 3);
}

// The span becomes reusable by a remote free while its owner looks for one.
TEST(interleavings, get_span_against_mostly_free) {
  scene_of<explored_sync, four_blocks> scene;
  expect_sound(scene, [&] { scene.start(3), scene.fill(8), scene.free(0, 0), scene.free(0, 1); },
               {[&] { scene.allocate(0); }, [&] { scene.free(1, 2); }, [&] { scene.free(2, 3); }});
}

// The owner takes the remote list back while it grows.
TEST(interleavings, refill_against_push) {
  scene_of<explored_sync, two_blocks> scene;
  expect_sound(
      scene, [&] { scene.start(2), scene.fill(2), scene.free(1, 0); },
      {[&] { scene.allocate(0), scene.allocate(0); }, [&] { scene.free(1, 1); }}, 3);
}

// The span that one thread empties is taken by another from the pool, while a third still looks at it.
TEST(interleavings, a_new_tenure_against_late_readers) {
  scene_of<explored_sync, two_blocks> scene;
  expect_sound(scene, [&] { scene.start(3), scene.fill(3), scene.free(0, 0); },
               {[&] { scene.free(1, 1), scene.allocate(1), scene.allocate(1), scene.allocate(1); },
                [&] { scene.free(2, 2); }, [&] { scene.allocate(0); }});
}

// The span that one thread retires is emptied by another, which takes it from the pool and retires it in
// turn.
TEST(interleavings, retire_against_a_new_tenure) {
  scene_of<explored_sync, two_blocks> scene;
  expect_sound(
      scene, [&] { scene.start(2), scene.fill(2); },
      {[&] { scene.allocate(0); },
       [&] { scene.free(1, 0), scene.free(1, 1), scene.allocate(1), scene.allocate(1), scene.allocate(1); }});
}

// The span that becomes reusable is emptied, and taken from the pool, before its owner has put it into a
// list.
TEST(interleavings, mostly_free_against_a_new_tenure) {
  scene_of<explored_sync, four_blocks> scene;
  expect_sound(scene, [&] { scene.start(2), scene.fill(5), scene.free(0, 0), scene.free(0, 1); },
               {[&] { scene.free(0, 2); }, [&] { scene.free(1, 3), scene.allocate(1); }});
}

// A hot span is replaced by a reusable one while another thread frees all its blocks.
TEST(interleavings, replace_against_the_last_remote_free) {
  scene_of<explored_sync, four_blocks> scene;
  expect_sound(scene,
               [&] { scene.start(2), scene.fill(8), scene.free(0, 0), scene.free(0, 1), scene.free(0, 2); },
               {[&] { scene.allocate(0); },
                [&] { scene.free(1, 4), scene.free(1, 5), scene.free(1, 6), scene.free(1, 7); }});
}

TEST(interleavings, thread_end_against_remote_frees) {
  scene_of<explored_sync, two_blocks> scene;
  expect_sound(scene, [&] { scene.start(2), scene.fill(3); },
               {[&] { scene.heap->end_thread(0); }, [&] { scene.free(1, 0), scene.free(1, 1); }});
}

// Between two steps of the thread's end, spans become reusable and empty.
TEST(interleavings, thread_end_in_steps_against_remote_frees) {
  scene_of<explored_sync, span_by_span> scene;
  expect_sound(scene, [&] { scene.start(2), scene.fill(9); },
               {[&] { scene.heap->end_thread(0); },
                [&] {
                  scene.free(1, 0), scene.free(1, 1), scene.free(1, 4), scene.free(1, 5), scene.free(1, 6),
                      scene.free(1, 7);
                }});
}

TEST(interleavings, thread_end_in_steps_against_two_others) {
  scene_of<explored_sync, span_by_span> scene;
  expect_sound(scene, [&] { scene.start(3), scene.fill(5), scene.free(0, 0); },
               {[&] { scene.heap->end_thread(0); }, [&] { scene.free(1, 1); }, [&] { scene.allocate(2); }});
}

TEST(interleavings, thread_end_with_an_empty_hot_span) {
  scene_of<explored_sync, two_blocks> scene;
  const auto setup = [&] { scene.start(2), scene.fill(2), scene.free(0, 0); };
  const std::vector<std::function<void()>> threads = {[&] { scene.heap->end_thread(0); },
                                                      [&] { scene.free(1, 1); }};
  const auto check = [&] {
    require(scene.heap->spans_in(span_state::free) == 1, "the empty span of a thread that ended is not free");
    scene.heap->check(scene.live);
  };
  const explore::outcome result =
      explore::explorer({setup, threads, check, [&] { scene.heap->check_step(scene.live); }},
                        {.preemptions = 3})
          .explore();
  EXPECT_FALSE(result.failed) << result.what;
}

// Two threads free blocks of an orphan: one adopts it, one empties it.
template <class Sync>
explore::outcome adoption_against_last_free() {
  scene_of<Sync, two_blocks> scene;
  return explore_scene(
      scene, [&] { scene.start(3), scene.fill(3), scene.heap->end_thread(0); },
      {[&] { scene.free(1, 0); }, [&] { scene.free(2, 1); }}, 3);
}

TEST(interleavings, adoption_against_last_free) {
  const explore::outcome result = adoption_against_last_free<explored_sync>();
  EXPECT_FALSE(result.failed) << result.what;
}

TEST(interleavings, two_adoptions) {
  scene_of<explored_sync, four_blocks> scene;
  expect_sound(
      scene, [&] { scene.start(3), scene.fill(5), scene.heap->end_thread(0); },
      {[&] { scene.free(1, 0); }, [&] { scene.free(2, 1); }}, 3);
}

// One thread adopts an orphan by a free, another takes it for its allocations.
TEST(interleavings, adoption_against_reuse_of_an_orphan) {
  scene_of<explored_sync, four_blocks> scene;
  expect_sound(
      scene,
      [&] {
        scene.start(3), scene.fill(5), scene.free(0, 0), scene.free(0, 1), scene.free(0, 2),
            scene.heap->end_thread(0);
      },
      {[&] { scene.allocate(1); }, [&] { scene.free(2, 3); }}, 3);
}

// An orphan that stays one becomes reusable by the frees of one thread, is taken for the allocations of
// another, and loses its last old block by a third.
TEST(interleavings, frees_of_an_orphan_against_its_reuse) {
  scene_of<explored_sync, no_adoption> scene;
  expect_sound(
      scene,
      [&] { scene.start(4), scene.fill(5), scene.free(0, 0), scene.free(0, 1), scene.heap->end_thread(0); },
      {[&] { scene.free(1, 2); }, [&] { scene.allocate(2); }, [&] { scene.free(3, 3); }});
}

TEST(interleavings, the_last_frees_of_an_orphan_by_two_threads) {
  scene_of<explored_sync, no_adoption> scene;
  expect_sound(
      scene, [&] { scene.start(3), scene.fill(5), scene.heap->end_thread(0); },
      {[&] { scene.free(1, 0), scene.free(1, 1); }, [&] { scene.free(2, 2), scene.free(2, 3); }}, 3);
}

template <class Scene>
void look_at_class(Scene& scene) {
  for (void* const block : scene.heap->look_at_class(0)) scene.live.insert(block);
}

// The owner hands a reusable span over, another thread frees blocks of the span, maybe the last, and a third
// takes the span.
template <class Scene>
void leave_a_class(Scene& scene) {
  scene.start(3), scene.fill(5), scene.free(0, 0), scene.free(0, 1), scene.free(0, 2);
  look_at_class(scene);
}

TEST(interleavings, handing_over_against_the_last_remote_free) {
  scene_of<explored_sync, sharing> scene;
  expect_sound(scene, [&] { leave_a_class(scene); },
               {[&] { look_at_class(scene); }, [&] { scene.free(1, 3); }});
}

TEST(interleavings, handing_over_against_reuse_and_a_remote_free) {
  scene_of<explored_sync, sharing> scene;
  expect_sound(scene, [&] { leave_a_class(scene); },
               {[&] { look_at_class(scene); }, [&] { scene.free(1, 3); }, [&] { scene.allocate(2); }});
}

TEST(interleavings, lazy_return_against_remote_frees) {
  scene_of<explored_sync, lazy_return> scene;
  expect_sound(scene, [&] { scene.start(2), scene.fill(4); },
               {[&] { scene.free(0, 0), scene.allocate(0); }, [&] { scene.free(1, 1), scene.free(1, 2); }});
}

// Two threads empty spans, each in its column of the pool, while a third takes spans from both.
TEST(interleavings, accounts_of_the_pool_against_each_other) {
  scene_of<explored_sync, retaining> scene;
  expect_sound(scene, [&] { scene.start(3), scene.fill(4), scene.free(0, 0); },
               {[&] { scene.free(0, 1); }, [&] { scene.free(1, 2); }, [&] { scene.allocate(2); }});
}

// A thread exceeds the bound, takes quotas back and purges, while another retains more.
TEST(interleavings, the_bound_of_the_pool_against_a_put) {
  scene_of<explored_sync, retaining> scene;
  const auto setup = [&] { scene.start(2), scene.fill(6), scene.free(0, 0), scene.free(1, 1); };
  setup(), scene.free(0, 2), scene.free(0, 3);
  ASSERT_LE(scene.heap->front.pool().retained_bytes(), 2 * span_memory) << "the bound was not exceeded";
  expect_sound(scene, setup,
               {[&] { scene.free(0, 2), scene.free(0, 3); }, [&] { scene.free(1, 4), scene.allocate(1); }});
}

// What exceeds the bound gives way to memory elsewhere, while another thread retains more and takes spans.
TEST(interleavings, the_excess_of_the_pool_against_puts_and_gets) {
  scene_of<explored_sync, retaining> scene;
  explored_platform::has_helper = true;
  std::size_t before = 0;
  const auto give_way = [&] {
    scene.heap->front.pool().give_way(scene.heap->front.spans(), 0, 2 * span_memory);
  };
  const auto setup = [&] {
    scene.start(2), scene.fill(8);
    for (unsigned index = 0; index < 5; ++index) scene.free(index % 2, index);
    before = scene.heap->front.pool().retained_bytes();
  };
  setup(), give_way();
  EXPECT_EQ(before, 5 * span_memory);
  EXPECT_EQ(scene.heap->front.pool().retained_bytes(), 3 * span_memory) << "nothing gave way";
  expect_sound(scene, setup, {give_way, [&] { scene.free(1, 5), scene.free(1, 6), scene.allocate(1); }});
  explored_platform::has_helper = false;
}

// A thread frees the last block of a page of records' spans, and still looks at the span when another has
// purged all spans, dropped their records, and a third takes them again. One preemption is enough for that; a
// sweep has hundreds of points.
TEST(interleavings, the_sweep_of_records_against_late_readers) {
  scene_of<explored_sync, retaining> scene;
  const std::uint32_t spans = dropped_records<parts_of<retaining>>::spans_in_page();
  const auto setup = [&] {
    scene.start(3), scene.fill(spans + 1);  // the last span stays hot
    for (unsigned index = 1; index < spans; ++index) scene.free(0, index);
  };
  setup(), scene.free(1, 0), scene.heap->front.reclaim().trim(0);
  ASSERT_EQ(scene.heap->front.spans().span_number(0).base, nullptr) << "the record was not dropped";
  expect_sound(scene, setup,
               {[&] { scene.free(1, 0); }, [&] { scene.heap->front.reclaim().trim(0); },
                [&] { scene.allocate(2), scene.allocate(2); }},
               1);
}

// --- planted faults: the exploration has to find them ---

// Requests for attention are lost.
struct inattentive_sync : explored_sync {
  template <class T>
  struct atomic : explore::explored_atomic<T> {
    using explore::explored_atomic<T>::explored_atomic;
    T fetch_or(T, std::memory_order = {}) { return this->load(); }
  };
};

TEST(interleavings, find_the_span_stranded_without_attention) {
  const explore::outcome result = local_against_remote_last_free<inattentive_sync>();
  EXPECT_TRUE(result.failed);
  EXPECT_EQ(result.what, "an event is due that nobody has performed");
}

// The frontend itself may notice first, and gives up.
TEST(interleavings, find_the_torn_compare_and_swap) {
  EXPECT_DEATH(if (adoption_against_last_free<explore::torn_sync>().failed) std::abort(), "");
}

}  // namespace
}  // namespace heaplab::scalloc::testing
