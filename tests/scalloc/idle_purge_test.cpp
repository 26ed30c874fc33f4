// When the background purge thread is started, how long it serves, and who follows.
#include "allocators/scalloc/idle/idle_purge.h"

#include <gtest/gtest.h>

#include <vector>

#include "allocators/scalloc/policy/variants.h"
#include "concurrent/sync.h"
#include "scalloc/traits.h"
#include "support/fake_platform.h"

namespace heaplab::scalloc {
namespace {

constexpr config knobs = standard();

// Threads that only are counted; the test is the purge thread itself.
struct idle_platform : fake_platform {
  static inline std::vector<void*> started;
  static inline bool refuses;
  static inline std::int64_t slept;  // ms
  static inline unsigned wakes;
  static inline std::int32_t process;
  static inline bool is_alive;  // of a purge thread that is leaving
  static inline int given;      // the processors of the last purge thread

  struct thread {
    using body = int (*)(void*);
    bool start(body, void* argument, int processors) {
      if (!refuses) started.push_back(argument), given = processors;
      return !refuses;
    }
    bool has_ended() const { return !is_alive; }
    void forget() {}
  };
  static void wait(const void* word, std::uint32_t seen, std::int64_t duration) {
    if (static_cast<const heaplab::atomic<std::uint32_t>*>(word)->load(std::memory_order_relaxed) != seen)
      return;
    slept += duration;
    now += duration;
  }
  static void wake(const void*) { ++wakes; }
  static std::int32_t process_number() { return process; }
  static inline char threads[2];
  static inline int processors_now;  // of the first thread
  static inline unsigned questions;
  static int processors(std::int32_t) { return ++questions, processors_now; }
  static inline int thread;
  static const void* this_thread() { return &threads[thread]; }
};

using tested = idle_purge<test_traits<concurrent::std_sync, knobs, idle_platform>>;

struct work {
  unsigned rounds = 0, needed = 3;
  std::vector<unsigned> asks_in_round = {};
  tested* asked = nullptr;

  static std::int64_t wait() { return 100; }
  bool purge() {
    ++rounds;
    for (const unsigned round : asks_in_round)
      if (round == rounds) asked->ask(nullptr);
    return rounds < needed;
  }
};

class idle_purge_test : public ::testing::Test {
protected:
  idle_purge_test() {
    fake_platform::reset();
    idle_platform::started.clear();
    idle_platform::refuses = idle_platform::is_alive = false;
    idle_platform::slept = idle_platform::wakes = 0;
    idle_platform::process = 1;
    idle_platform::processors_now = 3;
    idle_platform::questions = 0;
    idle_platform::thread = 0;
    tested_.begin_process();
  }
  static std::size_t started() { return idle_platform::started.size(); }

  tested tested_;
};

TEST_F(idle_purge_test, has_one_purge_thread_however_often_it_is_asked) {
  for (int times = 0; times < 5; ++times) EXPECT_TRUE(tested_.ask(nullptr));
  EXPECT_EQ(started(), 1U);
}

TEST_F(idle_purge_test, waits_before_each_round_until_little_is_left) {
  tested_.ask(nullptr);
  work done;
  tested_.serve(idle_platform::started[0], done);
  EXPECT_EQ(done.rounds, 3U);
  EXPECT_EQ(idle_platform::slept, 300);
  tested_.ask(nullptr);
  EXPECT_EQ(started(), 2U) << "the next memory, the next purge thread";
}

TEST_F(idle_purge_test, looks_again_where_it_was_asked_in_the_last_round) {
  tested_.ask(nullptr);
  work done{.asks_in_round = {3}, .asked = &tested_};
  tested_.serve(idle_platform::started[0], done);
  EXPECT_EQ(done.rounds, 4U);
  EXPECT_EQ(started(), 1U);
}

TEST_F(idle_purge_test, changes_its_purge_thread_in_a_program_that_is_never_idle) {
  tested_.ask(nullptr);
  constexpr unsigned rounds = tested::tenure_milliseconds / 100;
  work done{.needed = 1000, .asks_in_round = {rounds - 2, rounds + 2}, .asked = &tested_};
  tested_.serve(idle_platform::started[0], done);
  EXPECT_EQ(done.rounds, rounds + 2);
  EXPECT_EQ(started(), 2U);
  EXPECT_NE(idle_platform::started[0], idle_platform::started[1]);
}

TEST_F(idle_purge_test, keeps_an_old_purge_thread_where_nobody_asks_for_another) {
  tested_.ask(nullptr);
  work done{.needed = 1000};
  tested_.serve(idle_platform::started[0], done);
  EXPECT_EQ(done.rounds, 1000U);
}

TEST_F(idle_purge_test, works_at_once_in_a_hurry) {
  tested_.ask(nullptr);
  tested_.hurry();
  tested_.hurry();
  EXPECT_EQ(idle_platform::wakes, 1U);
  work done;
  tested_.serve(idle_platform::started[0], done);
  EXPECT_EQ(done.rounds, 3U);
  EXPECT_EQ(idle_platform::slept, 200);
}

TEST_F(idle_purge_test, hands_a_hurry_on_to_the_next_purge_thread) {
  tested_.ask(nullptr);
  work first{.needed = 1000, .asks_in_round = {tested::tenure_milliseconds / 100 + 1}, .asked = &tested_};
  tested_.serve(idle_platform::started[0], first);
  ASSERT_EQ(started(), 2U);
  tested_.hurry();
  work none;
  tested_.serve(idle_platform::started[0], none);
  EXPECT_EQ(none.rounds, 0U) << "the former purge thread works";
  idle_platform::slept = 0;
  work second{.needed = 1};
  tested_.serve(idle_platform::started[1], second);
  EXPECT_EQ(idle_platform::slept, 0);
}

// A child of vfork has its parent's memory: a purge thread would end with the child.
TEST_F(idle_purge_test, starts_no_purge_thread_in_another_process) {
  idle_platform::process = 2;
  EXPECT_FALSE(tested_.ask(nullptr));
  EXPECT_EQ(started(), 0U);
  idle_platform::process = 1;
  EXPECT_TRUE(tested_.ask(nullptr));
  EXPECT_EQ(started(), 1U);
}

TEST_F(idle_purge_test, keeps_a_purge_thread_until_the_one_before_has_left) {
  tested_.ask(nullptr);
  work done{.needed = 8};
  tested_.serve(idle_platform::started[0], done);
  tested_.ask(nullptr);
  ASSERT_EQ(started(), 2U);
  idle_platform::is_alive = true;
  work busy{.needed = 1000, .asks_in_round = {8, 12}, .asked = &tested_};
  tested_.serve(idle_platform::started[1], busy);
  EXPECT_EQ(busy.rounds, 1000U);
  EXPECT_EQ(started(), 2U);
}

TEST_F(idle_purge_test, wakes_the_purge_thread_that_it_relieves) {
  tested_.ask(nullptr);
  EXPECT_EQ(idle_platform::wakes, 0U);
  work busy{.needed = 1000, .asks_in_round = {8}, .asked = &tested_};
  tested_.serve(idle_platform::started[0], busy);
  EXPECT_EQ(busy.rounds, 8U);
  EXPECT_EQ(idle_platform::wakes, 1U);
}

TEST_F(idle_purge_test, leaves_the_purge_thread_of_the_process_to_its_children) {
  tested_.ask(nullptr);
  work done{.needed = 8};
  tested_.serve(idle_platform::started[0], done);
  EXPECT_TRUE(tested_.ask(nullptr));
  idle_platform::process = 2;
  EXPECT_TRUE(tested_.ask(nullptr)) << "it works for all";
  EXPECT_EQ(started(), 2U);
}

TEST_F(idle_purge_test, asks_the_system_once_in_a_decay_period_where_it_refuses_threads) {
  idle_platform::refuses = true;
  EXPECT_FALSE(tested_.ask(nullptr));
  idle_platform::refuses = false;
  EXPECT_FALSE(tested_.ask(nullptr));
  EXPECT_FALSE(tested_.has_purge_thread());
  EXPECT_EQ(started(), 0U);
  fake_platform::now += knobs.decay_milliseconds;
  EXPECT_TRUE(tested_.ask(nullptr));
  EXPECT_TRUE(tested_.has_purge_thread());
  EXPECT_EQ(started(), 1U);
}

TEST_F(idle_purge_test, gives_its_purge_thread_the_processors_of_the_first_thread) {
  EXPECT_EQ(idle_platform::questions, 0U) << "asked before a purge thread is wanted";
  idle_platform::thread = 1;
  tested_.ask(nullptr);
  EXPECT_EQ(idle_platform::given, 3);
}

TEST_F(idle_purge_test, asks_for_no_processors_where_the_first_thread_starts_its_purge_thread) {
  tested_.ask(nullptr);
  EXPECT_EQ(started(), 1U);
  EXPECT_EQ(idle_platform::questions, 0U);
  EXPECT_EQ(idle_platform::given, 0);
}

TEST_F(idle_purge_test, gives_its_purge_thread_the_processors_from_before_the_program_changed_any) {
  for (const int thread : {0, 1}) {
    idle_platform::thread = thread;
    for (const int changed : {1, 2}) tested_.note_processors(), idle_platform::processors_now = changed;
    tested_.ask(nullptr);
    EXPECT_EQ(idle_platform::given, 3);
    idle_platform::processors_now = 3;
    idle_platform::thread = 0;
    tested_.after_fork_in_child();
  }
}

TEST_F(idle_purge_test, starts_a_purge_thread_in_the_child_of_a_fork) {
  tested_.ask(nullptr);
  idle_platform::process = 2;
  tested_.after_fork_in_child();
  tested_.ask(nullptr);
  EXPECT_EQ(started(), 2U);
}

}  // namespace
}  // namespace heaplab::scalloc
