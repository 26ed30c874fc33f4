#include "explore/explorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/assertion.h"

namespace heaplab::explore {
namespace {

struct counter_program {
  explored_atomic<int> value;

  program lost_update(unsigned threads) {
    const auto body = [this] { value.store(value.load() + 1); };
    return {.setup = [this] { value.store(0); },
            .threads = std::vector<std::function<void()>>(threads, body),
            .check = [this, threads] { require(value.load() == static_cast<int>(threads), "lost update"); }};
  }
};

TEST(explorer, runs_one_thread_once) {
  counter_program state;
  const outcome result = explorer(state.lost_update(1)).explore();
  EXPECT_FALSE(result.failed) << result.what;
  EXPECT_EQ(result.runs, 1U);
}

TEST(explorer, visits_every_interleaving_of_two_threads) {
  // Two threads with two operations each have 4! / (2! 2!) interleavings.
  explored_atomic<int> first, second;
  std::vector<std::string> seen;
  std::string trace;
  const auto two_steps = [&](char name) {
    return [&, name] {
      first.fetch_add(1);
      trace += name;
      second.fetch_add(1);
      trace += name;
    };
  };
  const program both{.setup = [&] { trace.clear(); },
                     .threads = {two_steps('a'), two_steps('b')},
                     .check = [&] { seen.push_back(trace); }};
  const outcome result = explorer(both, {.preemptions = 4}).explore();
  EXPECT_FALSE(result.failed);
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen, (std::vector<std::string>{"aabb", "abab", "abba", "baab", "baba", "bbaa"}));
}

// The first thread is cut into two pieces by its step at the shared atomic and the second into three by two
// steps, which have 5! / (2! 3!) interleavings. What each thread has for itself, and what nobody writes, cuts
// nothing.
TEST(explorer, switches_where_threads_meet) {
  explored_atomic<int> shared, own, constant;
  std::vector<std::string> seen;
  std::string trace;
  const program under_test{.setup = [&] { trace.clear(); },
                           .threads = {[&] {
                                         own.store(constant.load());
                                         shared.store(1);
                                         trace += 'a';
                                         own.store(constant.load());
                                       },
                                       [&] {
                                         shared.load();
                                         trace += 'b';
                                         constant.load();
                                         shared.load();
                                         trace += 'b';
                                       }},
                           .check = [&] { seen.push_back(trace); }};
  const outcome result = explorer(under_test, {.preemptions = 9}).explore();
  EXPECT_EQ(result.runs, 10U);
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen, (std::vector<std::string>{"abb", "bab", "bba"}));
}

// The second thread uses the atomic only if it runs between two steps of the first.
TEST(explorer, learns_late_where_threads_meet) {
  explored_atomic<int> door, hidden;
  const program under_test{.setup = [&] { door.store(0), hidden.store(0); },
                           .threads = {[&] {
                                         door.store(1);
                                         hidden.store(1);
                                         hidden.store(0);
                                         door.store(0);
                                       },
                                       [&] {
                                         if (door.load() == 1) require(hidden.load() == 0, "seen");
                                       }},
                           .check = {}};
  EXPECT_EQ(explorer(under_test).explore().what, "seen");
}

TEST(explorer, explores_every_step_where_each_run_has_other_atomics) {
  std::vector<std::unique_ptr<explored_atomic<int>>> values;
  const auto increments = [&] { values.back()->store(values.back()->load() + 1); };
  const program under_test{.setup = [&] { values.push_back(std::make_unique<explored_atomic<int>>(0)); },
                           .threads = {increments, increments},
                           .check = [&] { require(values.back()->load() == 2, "lost update"); }};
  EXPECT_EQ(explorer(under_test).explore().what, "lost update");
}

TEST(explorer, finds_a_lost_update) {
  counter_program state;
  EXPECT_EQ(explorer(state.lost_update(2), {.preemptions = 1}).explore().what, "lost update");
}

TEST(explorer, respects_the_bound_on_preemptions) {
  counter_program state;
  const outcome result = explorer(state.lost_update(2), {.preemptions = 0}).explore();
  EXPECT_FALSE(result.failed);
  EXPECT_EQ(result.runs, 2U);
}

// Two values that are equal at rest, and differ between two steps of one thread.
TEST(explorer, looks_at_the_invariant_in_the_middle_of_a_change) {
  explored_atomic<int> first, second;
  program under_test{.setup = [&] { first.store(0), second.store(0); },
                     .threads = {[&] { first.store(1), second.store(1); }},
                     .check = [&] { require(first.load() == second.load(), "differ at rest"); }};
  EXPECT_FALSE(explorer(under_test).explore().failed);
  under_test.invariant = [&] { require(first.load() == second.load(), "differ"); };
  EXPECT_EQ(explorer(under_test).explore().what, "differ");
}

TEST(explorer, looks_at_the_invariant_after_the_last_step) {
  explored_atomic<int> value;
  const program under_test{.setup = [&] { value.store(0); },
                           .threads = {[&] { value.store(1); }},
                           .check = {},
                           .invariant = [&] { require(value.load() == 0, "written"); }};
  EXPECT_EQ(explorer(under_test).explore().what, "written");
}

TEST(explorer, takes_what_an_assertion_reads_for_no_step) {
  explored_atomic<int> value;
  const auto runs = [&](bool asserts) {
    const auto thread = [&] {
      value.store(1);
      if (asserts) {
        const assertion_under_way evaluated;
        value.load();
      }
    };
    return explorer({.setup = [] {}, .threads = {thread, thread}, .check = {}}).explore().runs;
  };
  EXPECT_EQ(runs(true), runs(false));
}

TEST(explorer, reports_a_deadlock) {
  explored_sync::word never;
  const auto sleeps = [&] { explored_sync::sleep(never, 0); };
  EXPECT_EQ(explorer({.setup = [] {}, .threads = {sleeps, sleeps}, .check = {}}).explore().what, "deadlock");
}

// One flag and two sleepers, each of which wakes the next.
struct wake_up_program {
  explored_sync::word flag;

  outcome explore(std::function<void()> waits) {
    const auto sets = [&] {
      flag.store(1);
      explored_sync::wake_one(flag);
    };
    return explorer({.setup = [&] { flag.store(0); }, .threads = {waits, sets, waits}, .check = {}})
        .explore();
  }
};

TEST(explorer, wakes_who_sleeps) {
  wake_up_program state;
  const outcome result = state.explore([&] {
    while (state.flag.load() == 0) explored_sync::sleep(state.flag, 0);
    explored_sync::wake_one(state.flag);
  });
  EXPECT_FALSE(result.failed) << result.what;
  EXPECT_GT(result.runs, 3U);
}

TEST(explorer, finds_a_wake_up_that_is_lost) {
  wake_up_program state;
  const outcome result = state.explore([&] {
    // The flag may be set between the check and the sleep.
    if (state.flag.load() == 0) explored_sync::sleep(state.flag, state.flag.load());
    explored_sync::wake_one(state.flag);
  });
  EXPECT_EQ(result.what, "deadlock");
}

TEST(explorer, reports_threads_without_progress) {
  explored_atomic<int> never;
  const auto spins = [&] {
    while (never.load() == 0) {
    }
  };
  EXPECT_EQ(explorer({.setup = [] {}, .threads = {spins}, .check = {}}, {.steps = 100}).explore().what,
            "no progress");
}

}  // namespace
}  // namespace heaplab::explore
