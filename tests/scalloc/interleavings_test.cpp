// The dangerous transitions of span_state.h, on the real frontend, in every interleaving with two
// preemptions.
#include <gtest/gtest.h>

#include <cstdlib>

#include "allocators/scalloc/arena/dropped_records.h"
#include "explore/torn_sync.h"
#include "scalloc/explored_scene.h"
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
constexpr config no_adoption = without_adoption<4>();

// Retains the memory of two spans, and while there is a purge thread of all. A span has one block.
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
  static inline bool has_purge_thread = false;
  static bool purge(void* address, std::size_t bytes) {
    if (explore::explorer* const running = explore::explorer::running()) running->point();
    return fake_platform::purge(address, bytes);
  }
};

template <const config& Config>
using parts_of = test_traits<explored_sync, Config, explored_platform>;

template <class Sync, const config& Config>
using scene = scene_of<Sync, Config, explored_platform>;

using interleavings_two_blocks = explored_scene<two_blocks, explored_platform>;
using interleavings_four_blocks = explored_scene<four_blocks, explored_platform>;
using interleavings_no_reuse = explored_scene<no_reuse, explored_platform>;
using interleavings_span_by_span = explored_scene<span_by_span, explored_platform>;
using interleavings_lazy_return = explored_scene<lazy_return, explored_platform>;
using interleavings_no_adoption = explored_scene<no_adoption, explored_platform>;
using interleavings_retaining = explored_scene<retaining, explored_platform>;

// The owner retires a full hot span while others free its blocks: who comes last must return it.
TEST_F(interleavings_two_blocks, last_remote_free_against_retire) {
  expect_sound([&] { start(3, 2); }, {[&] { allocate(0); }, [&] { free(1, 0); }, [&] { free(2, 1); }});
}

// Who frees a block of a hot span asks nobody for attention: the owner asks when it retires the span.
TEST_F(interleavings_four_blocks, a_remote_free_against_retire) {
  expect_sound([&] { start(2, 4); }, {[&] { allocate(0); }, [&] { free(1, 0); }}, 3);
}

// A floating span, one block freed by its owner and one by another thread at once.
template <class Sync>
explore::outcome local_against_remote_last_free() {
  scene<Sync, two_blocks> at;
  return at.explored([&] { at.start(2, 3); }, {[&] { at.free(0, 0); }, [&] { at.free(1, 1); }}, 3);
}

TEST(interleavings, local_against_remote_last_free) {
  explore::expect_sound(local_against_remote_last_free<explored_sync>());
}

TEST_F(interleavings_four_blocks, local_against_two_remote_frees) {
  expect_sound([&] { start(3, 5), free(0, 3); },
               {[&] { free(0, 0); }, [&] { free(1, 1); }, [&] { free(2, 2); }});
}

TEST_F(interleavings_four_blocks, local_frees_over_both_thresholds_against_a_remote_one) {
  expect_sound([&] { start(2, 5); }, {[&] { free(0, 0), free(0, 1), free(0, 2); }, [&] { free(1, 3); }}, 3);
}

TEST_F(interleavings_no_reuse, frees_without_reuse) {
  expect_sound([&] { start(2, 5), free(0, 2); }, {[&] { free(0, 0), free(0, 3); }, [&] { free(1, 1); }}, 3);
}

// A reusable span is taken by its owner while its last block is freed.
TEST_F(interleavings_two_blocks, reuse_against_all_free) {
  expect_sound([&] { start(2, 4), free(0, 0); }, {[&] { allocate(0), allocate(0); }, [&] { free(1, 1); }}, 3);
}

// The span becomes reusable by a remote free while its owner looks for one.
TEST_F(interleavings_four_blocks, get_span_against_mostly_free) {
  expect_sound([&] { start(3, 8), free(0, 0), free(0, 1); },
               {[&] { allocate(0); }, [&] { free(1, 2); }, [&] { free(2, 3); }});
}

// The owner takes the remote list back while it grows.
TEST_F(interleavings_two_blocks, refill_against_push) {
  expect_sound([&] { start(2, 2), free(1, 0); }, {[&] { allocate(0), allocate(0); }, [&] { free(1, 1); }}, 3);
}

// The span that one thread empties is taken by another from the pool, while a third still looks at it.
TEST_F(interleavings_two_blocks, a_new_tenure_against_late_readers) {
  expect_sound([&] { start(3, 3), free(0, 0); }, {[&] { free(1, 1), allocate(1), allocate(1), allocate(1); },
                                                  [&] { free(2, 2); }, [&] { allocate(0); }});
}

// The span that one thread retires is emptied by another, which takes it from the pool and retires it in
// turn.
TEST_F(interleavings_two_blocks, retire_against_a_new_tenure) {
  expect_sound(
      [&] { start(2, 2); },
      {[&] { allocate(0); }, [&] { free(1, 0), free(1, 1), allocate(1), allocate(1), allocate(1); }});
}

// The span that becomes reusable is emptied, and taken from the pool, before its owner has put it into a
// list.
TEST_F(interleavings_four_blocks, mostly_free_against_a_new_tenure) {
  expect_sound([&] { start(2, 5), free(0, 0), free(0, 1); },
               {[&] { free(0, 2); }, [&] { free(1, 3), allocate(1); }});
}

// A hot span is replaced by a reusable one while another thread frees all its blocks.
TEST_F(interleavings_four_blocks, replace_against_the_last_remote_free) {
  expect_sound([&] { start(2, 8), free(0, 0), free(0, 1), free(0, 2); },
               {[&] { allocate(0); }, [&] { free(1, 4), free(1, 5), free(1, 6), free(1, 7); }});
}

TEST_F(interleavings_two_blocks, thread_end_against_remote_frees) {
  expect_sound([&] { start(2, 3); }, {[&] { heap->end_thread(0); }, [&] { free(1, 0), free(1, 1); }});
}

// Between two steps of the thread's end, spans become reusable and empty.
TEST_F(interleavings_span_by_span, thread_end_in_steps_against_remote_frees) {
  expect_sound([&] { start(2, 9); },
               {[&] { heap->end_thread(0); },
                [&] { free(1, 0), free(1, 1), free(1, 4), free(1, 5), free(1, 6), free(1, 7); }});
}

TEST_F(interleavings_span_by_span, thread_end_in_steps_against_two_others) {
  expect_sound([&] { start(3, 5), free(0, 0); },
               {[&] { heap->end_thread(0); }, [&] { free(1, 1); }, [&] { allocate(2); }});
}

TEST_F(interleavings_two_blocks, thread_end_with_an_empty_hot_span) {
  const auto check = [&] {
    require(heap->spans_in(span_state::free) == 1, "the empty span of a thread that ended is not free");
    heap->check(live);
  };
  explore::expect_sound(explore::explorer({[&] { start(2, 2), free(0, 0); },
                                           {[&] { heap->end_thread(0); }, [&] { free(1, 1); }},
                                           check,
                                           [&] { heap->check_step(live); }},
                                          {.preemptions = 3})
                            .explore());
}

// Two threads free blocks of an orphan: one adopts it, one empties it.
template <class Sync>
explore::outcome adoption_against_last_free() {
  scene<Sync, two_blocks> at;
  return at.explored([&] { at.start(3, 3), at.heap->end_thread(0); },
                     {[&] { at.free(1, 0); }, [&] { at.free(2, 1); }}, 3);
}

TEST(interleavings, adoption_against_last_free) {
  explore::expect_sound(adoption_against_last_free<explored_sync>());
}

TEST_F(interleavings_four_blocks, two_adoptions) {
  expect_sound([&] { start(3, 5), heap->end_thread(0); }, {[&] { free(1, 0); }, [&] { free(2, 1); }}, 3);
}

// One thread adopts an orphan by a free, another takes it for its allocations.
TEST_F(interleavings_four_blocks, adoption_against_reuse_of_an_orphan) {
  expect_sound([&] { start(3, 5), free(0, 0), free(0, 1), free(0, 2), heap->end_thread(0); },
               {[&] { allocate(1); }, [&] { free(2, 3); }}, 3);
}

// An orphan that stays one becomes reusable by the frees of one thread, is taken for the allocations of
// another, and loses its last old block by a third.
TEST_F(interleavings_no_adoption, frees_of_an_orphan_against_its_reuse) {
  expect_sound([&] { start(4, 5), free(0, 0), free(0, 1), heap->end_thread(0); },
               {[&] { free(1, 2); }, [&] { allocate(2); }, [&] { free(3, 3); }});
}

TEST_F(interleavings_no_adoption, the_last_frees_of_an_orphan_by_two_threads) {
  expect_sound([&] { start(3, 5), heap->end_thread(0); },
               {[&] { free(1, 0), free(1, 1); }, [&] { free(2, 2), free(2, 3); }}, 3);
}

// The owner hands a reusable span over, another thread frees blocks of the span, maybe the last, and a third
// takes the span.
class interleavings_sharing : public explored_scene<sharing, explored_platform> {
protected:
  void look_at_class() {
    const auto taken = heap->look_at_class(0);
    live.insert(taken.begin(), taken.end());
  }
  void leave_a_class() {
    start(3, 5), free(0, 0), free(0, 1), free(0, 2);
    look_at_class();
  }
};

TEST_F(interleavings_sharing, handing_over_against_the_last_remote_free) {
  expect_sound([&] { leave_a_class(); }, {[&] { look_at_class(); }, [&] { free(1, 3); }});
}

TEST_F(interleavings_sharing, handing_over_against_reuse_and_a_remote_free) {
  expect_sound([&] { leave_a_class(); },
               {[&] { look_at_class(); }, [&] { free(1, 3); }, [&] { allocate(2); }});
}

TEST_F(interleavings_lazy_return, lazy_return_against_remote_frees) {
  expect_sound([&] { start(2, 4); }, {[&] { free(0, 0), allocate(0); }, [&] { free(1, 1), free(1, 2); }});
}

// Two threads empty spans, each in its column of the pool, while a third takes spans from both.
TEST_F(interleavings_retaining, accounts_of_the_pool_against_each_other) {
  expect_sound([&] { start(3, 4), free(0, 0); },
               {[&] { free(0, 1); }, [&] { free(1, 2); }, [&] { allocate(2); }});
}

// A thread exceeds the bound, takes quotas back and purges, while another retains more.
TEST_F(interleavings_retaining, the_bound_of_the_pool_against_a_put) {
  const auto setup = [&] { start(2, 6), free(0, 0), free(1, 1); };
  setup(), free(0, 2), free(0, 3);
  ASSERT_LE(heap->life.pool.retained_bytes(), 2 * span_memory) << "the bound was not exceeded";
  expect_sound(setup, {[&] { free(0, 2), free(0, 3); }, [&] { free(1, 4), allocate(1); }});
}

// What exceeds the bound gives way to memory elsewhere, while another thread retains more and takes spans.
TEST_F(interleavings_retaining, the_excess_of_the_pool_against_puts_and_gets) {
  explored_platform::has_purge_thread = true;
  std::size_t before = 0;
  const auto purge_for_growth = [&] {
    heap->life.pool.purge_for_growth(heap->life.arena, 0, 2 * span_memory);
  };
  const auto setup = [&] {
    start(2, 8);
    for (unsigned index = 0; index < 5; ++index) free(index % 2, index);
    before = heap->life.pool.retained_bytes();
  };
  setup(), purge_for_growth();
  EXPECT_EQ(before, 5 * span_memory);
  EXPECT_EQ(heap->life.pool.retained_bytes(), 3 * span_memory) << "nothing gave way";
  expect_sound(setup, {purge_for_growth, [&] { free(1, 5), free(1, 6), allocate(1); }});
  explored_platform::has_purge_thread = false;
}

// The spans of a page of records. One thread frees their last block and still looks at its span when another
// thread has purged all of them and dropped the records, and a third takes the spans again. One preemption
// suffices; a sweep has hundreds of points at which others may run.
TEST_F(interleavings_retaining, the_sweep_of_records_against_late_readers) {
  const std::uint32_t spans = dropped_records<parts_of<retaining>>::spans_in_page();
  const auto setup = [&] {
    start(3, spans + 1);  // the last span stays hot
    for (unsigned index = 1; index < spans; ++index) free(0, index);
  };
  setup(), free(1, 0), heap->life.trim(0);
  ASSERT_EQ(heap->life.arena.span_number(0).base, nullptr) << "the record was not dropped";
  expect_sound(setup, {[&] { free(1, 0); }, [&] { heap->life.trim(0); }, [&] { allocate(2), allocate(2); }},
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
  EXPECT_EQ(local_against_remote_last_free<inattentive_sync>().what,
            "an event is due that nobody has performed");
}

// The frontend itself may notice first, and gives up.
TEST(interleavings, find_the_torn_compare_and_swap) {
  EXPECT_DEATH(if (adoption_against_last_free<explore::torn_sync>().failed) std::abort(), "");
}

}  // namespace
}  // namespace heaplab::scalloc::testing
