// Free pages inside spans go back to the system, in every interleaving with two preemptions with what the
// owner and others do to the span.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "explore/expect_sound.h"
#include "scalloc/holed_heap.h"

namespace heaplab::scalloc::testing {
namespace {

using explore::explored_sync;
using steps = std::function<void()>;

constexpr config four_pages = paged_config<4>();

class hole_sweep_interleavings : public ::testing::Test {
protected:
  hole_sweep_interleavings() {
    hooked_platform::before_purge = [] {
      if (explore::explorer* const running = explore::explorer::running()) running->point();
    };
  }
  ~hole_sweep_interleavings() override { hooked_platform::before_purge = nullptr; }

  // Thread 0 has `filled` blocks, of which it then frees the first `freed`.
  void start(unsigned filled, unsigned freed) {
    tested_.reset();
    tested_.emplace(3);
    tested_->fill(filled);
    for (unsigned index = 0; index < freed; ++index) tested_->release(0, index);
  }
  // Thread 0 has a hot span, of whose blocks other threads free the first three.
  void start_hot() {
    start(4, 0);
    release(1, 0), release(1, 1), release(2, 2);
  }
  void sweep() { tested_->holes.sweep_all(); }
  void release(unsigned thread, unsigned index) { tested_->release(thread, index); }
  void take(unsigned thread, unsigned count) {
    for (unsigned step = 0; step < count; ++step) tested_->take(thread);
  }

  void expect_sound(const steps& setup, std::vector<steps> threads) {
    setup(), sweep();
    const auto& swept = tested_->span_of(tested_->blocks[0]);
    ASSERT_NE(swept.holes | swept.hot_holes.load(std::memory_order_relaxed), 0U) << "there is no hole";
    tested_->check_all();
    explore::expect_sound(explore::explorer({setup, std::move(threads), [this] { tested_->check_all(); },
                                             [this] { tested_->check_step(tested_->live); }})
                              .explore());
  }

  std::optional<holed_heap<explored_sync, four_pages>> tested_;
};

TEST_F(hole_sweep_interleavings, against_frees_of_the_owner) {
  expect_sound([&] { start(5, 2); }, {[&] { sweep(); }, [&] { release(0, 2), release(0, 3); }});
}

TEST_F(hole_sweep_interleavings, against_the_last_frees_by_others) {
  expect_sound([&] { start(5, 2); }, {[&] { sweep(); }, [&] { release(1, 2); }, [&] { release(2, 3); }});
}

// The owner's hot span is dry, and the swept span the only reusable one.
TEST_F(hole_sweep_interleavings, against_the_owner_that_allocates) {
  expect_sound([&] { start(8, 2); }, {[&] { sweep(); }, [&] { take(0, 3); }});
}

TEST_F(hole_sweep_interleavings, against_a_remote_free_and_a_refill) {
  expect_sound([&] { start(8, 1), release(1, 1), release(1, 2); },
               {[&] { sweep(); }, [&] { take(0, 3); }, [&] { release(2, 3); }});
}

TEST_F(hole_sweep_interleavings, of_a_hot_span_against_the_owner_that_allocates) {
  expect_sound([&] { start_hot(); }, {[&] { sweep(); }, [&] { take(0, 4); }});
}

TEST_F(hole_sweep_interleavings, of_a_hot_span_against_another_remote_free_and_the_owner) {
  expect_sound([&] { start_hot(); }, {[&] { sweep(); }, [&] { release(2, 3); }, [&] { take(0, 2); }});
}

TEST_F(hole_sweep_interleavings, of_a_hot_span_against_another_sweep_and_the_owner) {
  expect_sound([&] { start_hot(); },
               {[&] { sweep(); }, [&] { release(1, 3), sweep(); }, [&] { take(0, 2); }});
}

TEST_F(hole_sweep_interleavings, of_a_hot_span_against_the_end_of_the_owner) {
  expect_sound([&] { start_hot(); }, {[&] { sweep(); }, [&] { tested_->end_thread(0); }});
}

TEST_F(hole_sweep_interleavings, of_a_hot_span_against_its_retirement_and_last_free) {
  expect_sound([&] { start_hot(); },
               {[&] { sweep(); }, [&] { retire_hot_spans(tested_->life, *tested_->labs[0]); },
                [&] { release(2, 3); }});
}

TEST_F(hole_sweep_interleavings, against_the_end_of_the_owner) {
  expect_sound([&] { start(5, 2); }, {[&] { sweep(); }, [&] { tested_->end_thread(0); }});
}

TEST_F(hole_sweep_interleavings, against_the_reuse_of_an_orphan) {
  expect_sound([&] { start(5, 2), tested_->end_thread(0); },
               {[&] { sweep(); }, [&] { take(1, 2); }, [&] { release(2, 2); }});
}

TEST_F(hole_sweep_interleavings, against_the_adoption_of_an_orphan) {
  expect_sound([&] { start(5, 2), tested_->end_thread(0); },
               {[&] { sweep(); }, [&] { release(1, 2); }, [&] { release(2, 3); }});
}

}  // namespace
}  // namespace heaplab::scalloc::testing
