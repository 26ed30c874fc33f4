// A sweep takes a sparse span off the fast path, in every interleaving with what its owner and others do.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "explore/expect_sound.h"
#include "scalloc/drained_heap.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config draining = draining_config();

class draining_interleavings : public ::testing::Test {
protected:
  using steps = std::function<void()>;

  ~draining_interleavings() override { hooked_platform::before_purge = nullptr; }

  void start() {
    tested_.reset();
    tested_.emplace(3);
  }
  void sweep() { tested_->holes.sweep_all(); }
  void release(unsigned thread, unsigned index) { tested_->release(thread, index); }
  void take(unsigned thread, unsigned count) {
    for (unsigned step = 0; step < count; ++step) tested_->take(thread);
  }

  void expect_sound(std::vector<steps> threads, const steps& before = [] {}, unsigned preemptions = 2) {
    const steps setup = [this, before] { start(), before(); };
    setup(), sweep();
    ASSERT_TRUE(tested_->is_drained());
    tested_->check_all();
    explore::expect_sound(explore::explorer({setup, std::move(threads), [this] { tested_->check_all(); },
                                             [this] { tested_->check_step(tested_->live); }},
                                            {.preemptions = preemptions})
                              .explore());
  }

  std::optional<drained_heap<explore::explored_sync, draining>> tested_;
};

TEST_F(draining_interleavings, against_frees_of_the_owner) {
  expect_sound({[&] { sweep(); }, [&] { release(0, 4), release(0, 0); }});
}

TEST_F(draining_interleavings, against_the_last_free_by_another) {
  expect_sound({[&] { sweep(); }, [&] { release(1, 0); }, [&] { release(0, 4), take(0, 1); }});
}

TEST_F(draining_interleavings, against_the_owner_that_makes_the_span_hot) {
  expect_sound({[&] { sweep(); }, [&] { take(0, 1), release(0, 0), release(0, 4); }});
}

TEST_F(draining_interleavings, against_the_owner_that_makes_the_span_hot_and_a_free_by_another) {
  expect_sound({[&] { sweep(); }, [&] { take(0, 1); }, [&] { release(1, 0); }});
}

TEST_F(draining_interleavings, of_a_drained_span_against_frees_and_another_sweep) {
  expect_sound({[&] { sweep(); }, [&] { release(0, 0), release(0, 4); }, [&] { release(1, 5); }},
               [&] { sweep(); });
}

TEST_F(draining_interleavings, against_the_end_of_the_owner_and_the_next_one) {
  const steps end = [&] { tested_->end_thread(0); };
  expect_sound({[&] { sweep(); }, end, [&] { take(1, 1), release(1, 0); }}, [] {}, 1);
  expect_sound({[&] { sweep(); }, end});
}

TEST_F(draining_interleavings, of_an_orphan_against_its_reuse) {
  expect_sound({[&] { sweep(); }, [&] { take(1, 1), release(1, 0); }, [&] { release(2, 4); }},
               [&] { tested_->end_thread(0); });
}

TEST_F(draining_interleavings, against_the_handing_over_of_its_idle_class) {
  expect_sound({[&] { sweep(); },
                [&] {
                  for (unsigned look = 0; look < 2; ++look) tested_->life.abandon_idle(*tested_->labs[0]);
                },
                [&] { take(1, 1), release(1, 0); }},
               [&] { tested_->labs[0]->class_to_look_at = tested_->class_index; });
}

}  // namespace
}  // namespace heaplab::scalloc::testing
