// No lock of the arena or of the registry of buffers is held over a system call, in every interleaving with
// two preemptions: before each call of the system another call takes the lock. The explorer reports threads
// that wait for ever. For large blocks see large_interleavings_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "allocators/scalloc/frontend/lab_registry.h"
#include "explore/expect_sound.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

struct watched_platform : system_platform {
  static inline std::function<void()> at_call;
  static void called() {
    if (at_call) at_call();
  }
  static void* allocate(std::size_t bytes, std::size_t alignment) {
    return called(), os_pages::allocate(bytes, alignment);
  }
  static bool unmap(void* address, std::size_t bytes) { return called(), os_pages::unmap(address, bytes); }
  static bool purge(void* address, std::size_t bytes) { return called(), os_pages::purge(address, bytes); }
};

constexpr config knobs = [] {
  config result = listing_config<4>(1, 1);
  result.arena_bytes = 64 * mib;
  return result;
}();
using traits = test_traits<explore::explored_sync, knobs, watched_platform>;
using steps = std::function<void()>;

class unlocked_calls_interleavings : public ::testing::Test {
protected:
  ~unlocked_calls_interleavings() override { end(); }

  void start(steps at_call) {
    end();
    life_.emplace();
    labs_.emplace();
    require(life_->open(tuning{knobs}, 2), "no address space");
    watched_platform::at_call = std::move(at_call);
  }
  arena<traits>& spans() { return life_->arena; }

  static void expect_sound(steps setup, std::vector<steps> threads, steps check) {
    explore::expect_sound(
        explore::explorer({std::move(setup), std::move(threads), std::move(check)}).explore());
  }

  std::optional<span_life<traits>> life_;
  std::optional<lab_registry<traits>> labs_;

private:
  void end() {
    watched_platform::at_call = nullptr;
    if (life_) spans().close();
  }
};

TEST_F(unlocked_calls_interleavings, the_arena_shrinks) {
  span<traits>* carved[2] = {};
  const auto setup = [&] { start([this] { spans().carve(true, 0); }), spans().carve(true, 0); };
  const auto check = [&] {
    for (span<traits>* const span : carved) require(span->base[0] == 0, "a span lies in the gap");
    require(spans().bytes() == knobs.arena_bytes / 4, "the arena is not as large as asked");
    require(!spans().shrink(knobs.arena_bytes / 4), "the arena could shrink more");
  };
  expect_sound(setup,
               {[&] { spans().shrink(knobs.arena_bytes / 2), carved[0] = spans().carve(true, 0); },
                [&] { spans().shrink(knobs.arena_bytes / 4), carved[1] = spans().carve(true, 0); }},
               check);
}

// Each of two new threads maps a buffer. A third ends, and leaves its own to one of them.
TEST_F(unlocked_calls_interleavings, threads_get_buffers) {
  lab<traits>* given[2] = {};
  lab<traits>* ended = nullptr;
  const auto setup = [&] {
    start(nullptr);
    ended = labs_->attach(1);
    watched_platform::at_call = [&] {
      watched_platform::at_call = nullptr;
      labs_->detach(*life_, *ended);
    };
  };
  const auto attach = [&](unsigned thread) { return [&, thread] { given[thread] = labs_->attach(1); }; };
  const auto check = [&] {
    require(given[0] != nullptr && given[1] != nullptr && given[0] != given[1], "two threads have a buffer");
    require(given[0]->column != given[1]->column, "two threads have a column");
  };
  expect_sound(setup, {attach(0), attach(1)}, check);
}

}  // namespace
}  // namespace heaplab::scalloc::testing
