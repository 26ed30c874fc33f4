// When the heap's own thread is started, how long it serves, and who follows.
#include "allocators/scalloc/idle_purge.h"

#include <gtest/gtest.h>

#include <vector>

#include "allocators/scalloc/variants.h"
#include "concurrent/sync.h"
#include "scalloc/traits.h"
#include "support/fake_platform.h"

namespace heaplab::scalloc {
namespace {

constexpr config knobs = standard();

// Threads that only are counted; the test is the helper itself.
struct idle_platform : fake_platform {
  static inline std::vector<void*> started;
  static inline bool refuses;
  static inline std::int64_t slept;  // ms

  struct thread {
    using body = int (*)(void*);
    bool start(body, void* argument) {
      if (!refuses) started.push_back(argument);
      return !refuses;
    }
    void forget() {}
  };
  static void sleep(std::int64_t duration) { slept += duration; }
};

struct work {
  unsigned rounds = 0, needed = 3;
  std::vector<unsigned> asks_in_round = {};
  idle_purge<test_traits<concurrent::std_sync, knobs, idle_platform>>* asked = nullptr;

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
    idle_platform::refuses = false;
    idle_platform::slept = 0;
  }
  static std::size_t helpers() { return idle_platform::started.size(); }

  idle_purge<test_traits<concurrent::std_sync, knobs, idle_platform>> it_;
};

TEST_F(idle_purge_test, has_one_helper_however_often_it_is_asked) {
  for (int times = 0; times < 5; ++times) EXPECT_TRUE(it_.ask(nullptr));
  EXPECT_EQ(helpers(), 1U);
}

TEST_F(idle_purge_test, waits_before_each_round_until_little_is_left) {
  it_.ask(nullptr);
  work done;
  it_.serve(idle_platform::started[0], done);
  EXPECT_EQ(done.rounds, 3U);
  EXPECT_EQ(idle_platform::slept, 300);
  it_.ask(nullptr);
  EXPECT_EQ(helpers(), 2U) << "the next memory, the next helper";
}

TEST_F(idle_purge_test, looks_again_where_it_was_asked_in_the_last_round) {
  it_.ask(nullptr);
  work done{.asks_in_round = {3}, .asked = &it_};
  it_.serve(idle_platform::started[0], done);
  EXPECT_EQ(done.rounds, 4U);
  EXPECT_EQ(helpers(), 1U);
}

TEST_F(idle_purge_test, changes_its_helper_in_a_program_that_is_never_idle) {
  it_.ask(nullptr);
  work done{.needed = 1000, .asks_in_round = {5, knobs.idle_purge_rounds + 2}, .asked = &it_};
  it_.serve(idle_platform::started[0], done);
  EXPECT_EQ(done.rounds, knobs.idle_purge_rounds + 2);
  EXPECT_EQ(helpers(), 2U);
  EXPECT_NE(idle_platform::started[0], idle_platform::started[1]);
}

TEST_F(idle_purge_test, keeps_an_old_helper_where_nobody_asks_for_another) {
  it_.ask(nullptr);
  work done{.needed = 10 * knobs.idle_purge_rounds};
  it_.serve(idle_platform::started[0], done);
  EXPECT_EQ(done.rounds, 10 * knobs.idle_purge_rounds);
}

TEST_F(idle_purge_test, asks_the_system_once_in_a_decay_period_where_it_refuses_threads) {
  idle_platform::refuses = true;
  EXPECT_FALSE(it_.ask(nullptr));
  idle_platform::refuses = false;
  EXPECT_FALSE(it_.ask(nullptr));
  EXPECT_FALSE(it_.has_helper());
  EXPECT_EQ(helpers(), 0U);
  fake_platform::now += knobs.decay_milliseconds;
  EXPECT_TRUE(it_.ask(nullptr));
  EXPECT_TRUE(it_.has_helper());
  EXPECT_EQ(helpers(), 1U);
}

TEST_F(idle_purge_test, starts_a_helper_in_the_child_of_a_fork) {
  it_.ask(nullptr);
  it_.after_fork_in_child();
  it_.ask(nullptr);
  EXPECT_EQ(helpers(), 2U);
}

}  // namespace
}  // namespace heaplab::scalloc
