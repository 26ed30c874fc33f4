// Stacks of blocks for each CPU. Where the system has no restartable sequences most of these tests are
// skipped.
#include "concurrent/core_stacks.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "base/atomic.h"
#include "check/children.h"
#include "support/cpus.h"

namespace heaplab::concurrent {
namespace {

using heaplab::testing::allowed_cpus;
using heaplab::testing::go_to_cpu;

struct small_plan {
  static constexpr unsigned kinds = 3;
  static constexpr std::uint32_t most(unsigned, unsigned kind) { return kind == 2 ? 0 : 8; }
  static constexpr std::uint32_t first(unsigned, unsigned kind) { return kind == 2 ? 0 : 3; }
  // What requests of 0 and 1 steps get is of the kinds 1 and 0, or on CPUs with odd numbers 0 and 1.
  static constexpr std::array<std::uint8_t, 2> steps(unsigned cpu) {
    return {static_cast<std::uint8_t>(1 - cpu % 2), static_cast<std::uint8_t>(cpu % 2)};
  }
};

struct system_without_barriers : core_system {
  static bool barrier() { return false; }
};

template <class System = core_system>
class stacks_of_every_cpu {
public:
  using type = core_stacks<small_plan, System>;

  stacks_of_every_cpu() : stacks_(std::make_unique<type>()) {
    stacks_->open();
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      memory_.push_back(std::make_unique<std::array<char*, type::bytes_of_cpu() / 8>>());
      stacks_->add(cpu, memory_.back()->data());
    }
  }

  type& operator*() { return *stacks_; }
  type* operator->() { return stacks_.get(); }

private:
  std::unique_ptr<type> stacks_;
  std::vector<std::unique_ptr<std::array<char*, type::bytes_of_cpu() / 8>>> memory_;
};

bool are_possible() {
  return has_sequences && rseq_area::distance() != 0;
}

// Another program may abort a sequence.
template <class Stacks>
sequence_end push(Stacks& stacks, unsigned kind, void* block) {
  for (;;)
    if (const sequence_end end = stacks.try_push(kind, block); end != sequence_end::aborted) return end;
}
template <class Stacks>
void* pop(Stacks& stacks, unsigned kind) {
  for (;;) {
    void* block = nullptr;
    if (stacks.try_pop(kind, &block, 1) != sequence_end::aborted) return block;
  }
}

TEST(core_stacks, have_room_up_to_a_limit_that_rises) {
  if (!are_possible()) GTEST_SKIP();
  go_to_cpu(0);
  stacks_of_every_cpu stacks;
  char blocks[9];
  const unsigned cpu = stacks->cpu();
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(push(*stacks, 1, &blocks[i]), sequence_end::committed);
  EXPECT_EQ(push(*stacks, 1, &blocks[3]), sequence_end::refused);
  EXPECT_TRUE(stacks->raise_limit(cpu, 1));
  EXPECT_EQ(stacks->limit(cpu, 1), 6U);
  EXPECT_TRUE(stacks->raise_limit(cpu, 1));
  EXPECT_EQ(stacks->limit(cpu, 1), 8U);
  EXPECT_FALSE(stacks->raise_limit(cpu, 1));
  for (unsigned i = 3; i < 8; ++i) EXPECT_EQ(push(*stacks, 1, &blocks[i]), sequence_end::committed);
  EXPECT_EQ(push(*stacks, 1, &blocks[8]), sequence_end::refused);
  EXPECT_EQ(stacks->count(cpu, 1), 8U);
  EXPECT_EQ(stacks->count(cpu, 0), 0U);
  EXPECT_EQ(push(*stacks, 2, &blocks[8]), sequence_end::refused);
  for (unsigned i = 8; i-- > 0;) EXPECT_EQ(pop(*stacks, 1), &blocks[i]);
  EXPECT_EQ(pop(*stacks, 1), nullptr);
}

TEST(core_stacks, tell_whether_they_hold_a_block) {
  if (!are_possible()) GTEST_SKIP();
  go_to_cpu(0);
  stacks_of_every_cpu stacks;
  char blocks[2];
  push(*stacks, 0, &blocks[0]), push(*stacks, 0, &blocks[1]);
  EXPECT_TRUE(stacks->holds(0, &blocks[0]));
  EXPECT_TRUE(stacks->holds(0, &blocks[1]));
  EXPECT_FALSE(stacks->holds(1, &blocks[0]));
  pop(*stacks, 0);
  EXPECT_FALSE(stacks->holds(0, &blocks[1]));
}

TEST(core_stacks, of_another_cpu_can_be_emptied) {
  if (!are_possible()) GTEST_SKIP();
  stacks_of_every_cpu stacks;
  char blocks[2];
  go_to_cpu(0);
  const unsigned there = stacks->cpu();
  push(*stacks, 0, &blocks[0]), push(*stacks, 1, &blocks[1]);
  go_to_cpu(1);
  stacks->raise_limit(there, 0);
  ASSERT_TRUE(stacks->stop([&](unsigned cpu) { return cpu == there; }));
  EXPECT_TRUE(stacks->is_stopped(there));
  std::vector<std::pair<unsigned, void*>> taken;
  stacks->take_all(there, [&](unsigned kind, void* block) { taken.emplace_back(kind, block); });
  EXPECT_EQ(taken, (std::vector<std::pair<unsigned, void*>>{{0, &blocks[0]}, {1, &blocks[1]}}));
  EXPECT_EQ(stacks->limit(there, 0), 3U);
  go_to_cpu(0);
  EXPECT_EQ(push(*stacks, 0, &blocks[0]), sequence_end::refused);
  stacks->resume();
  EXPECT_EQ(push(*stacks, 0, &blocks[0]), sequence_end::committed);
}

TEST(core_stacks, stay_in_use_where_the_system_refuses_a_barrier) {
  if (!are_possible()) GTEST_SKIP();
  go_to_cpu(0);
  stacks_of_every_cpu<system_without_barriers> stacks;
  EXPECT_FALSE(stacks->stop([](unsigned) { return true; }));
  char block;
  EXPECT_EQ(push(*stacks, 0, &block), sequence_end::committed);
  EXPECT_EQ(pop(*stacks, 0), &block);
}

TEST(core_stacks, refuse_before_they_are_opened) {
  const auto stacks = std::make_unique<core_stacks<small_plan>>();
  void* block = nullptr;
  EXPECT_EQ(stacks->cpu(), sequence_cpus);
  EXPECT_EQ(stacks->try_push(0, &block), sequence_end::refused);
  EXPECT_EQ(stacks->try_pop(0, &block, 1), sequence_end::refused);
  EXPECT_EQ(stacks->try_pop_of_step(0, block), sequence_end::refused);
}

TEST(core_stacks, refuse_on_a_cpu_that_has_none) {
  if (!are_possible()) GTEST_SKIP();
  const auto stacks = std::make_unique<core_stacks<small_plan>>();
  stacks->open();
  void* block = nullptr;
  EXPECT_EQ(stacks->push(0, &block), sequence_end::refused);
  EXPECT_EQ(stacks->pop_of_step(0, block), sequence_end::refused);
}

TEST(core_stacks, pop_what_the_size_of_a_request_leads_to_on_the_cpu) {
  if (!are_possible()) GTEST_SKIP();
  stacks_of_every_cpu stacks;
  for (unsigned turn = 0; turn < 2; ++turn) {
    go_to_cpu(turn);
    char blocks[2];
    push(*stacks, 0, &blocks[0]), push(*stacks, 1, &blocks[1]);
    for (unsigned step = 0; step < 2; ++step) {
      void* block = nullptr;
      while (stacks->pop_of_step(step, block) == sequence_end::aborted) {
      }
      EXPECT_EQ(block, &blocks[small_plan::steps(stacks->cpu())[step]]);
    }
  }
}

TEST(core_stacks, stopped_by_a_thread_that_a_fork_leaves_behind_go_on_in_the_child) {
  if (!are_possible()) GTEST_SKIP();
  stacks_of_every_cpu stacks;
  ASSERT_TRUE(stacks->stop([](unsigned) { return true; }));
  const pid_t child = fork();
  if (child == 0) {
    stacks->after_fork_in_child(false);
    char block;
    _exit(push(*stacks, 0, &block) == sequence_end::committed && pop(*stacks, 0) == &block ? 0 : 1);
  }
  EXPECT_EQ(check::status_of(child), 0);
}

TEST(core_stacks, of_another_cpu_can_be_emptied_by_the_one_thread_of_a_program) {
  if (!are_possible()) GTEST_SKIP();
  stacks_of_every_cpu<system_without_barriers> stacks;
  char block;
  go_to_cpu(0);
  const unsigned there = stacks->cpu();
  push(*stacks, 0, &block);
  go_to_cpu(1);
  ASSERT_TRUE(stacks->stop_alone());
  void* taken = nullptr;
  stacks->take_all(there, [&](unsigned, void* memory) { taken = memory; });
  EXPECT_EQ(taken, &block);
  EXPECT_EQ(push(*stacks, 0, &block), sequence_end::refused);
  stacks->resume();
  EXPECT_EQ(push(*stacks, 0, &block), sequence_end::committed);
}

TEST(core_stacks, refuse_while_children_of_vfork_live) {
  if (!are_possible()) GTEST_SKIP();
  stacks_of_every_cpu stacks;
  char block;
  stacks->count_children(1);
  stacks->count_children(1);
  EXPECT_EQ(push(*stacks, 0, &block), sequence_end::refused);
  EXPECT_EQ(stacks->cpu(), sequence_cpus);
  stacks->count_children(-1);
  EXPECT_FALSE(stacks->are_possible());
  stacks->open();
  EXPECT_FALSE(stacks->are_possible()) << "the heap opens while a child lives";
  stacks->count_children(-1);
  EXPECT_EQ(push(*stacks, 0, &block), sequence_end::committed);
  EXPECT_EQ(pop(*stacks, 0), &block);
}

// The child of a fork has no child of vfork, unless it is the child of one: then its area is unknown to the
// kernel for good.
TEST(core_stacks, are_open_to_the_child_of_a_fork_beside_a_child_of_vfork_alone) {
  if (!are_possible()) GTEST_SKIP();
  stacks_of_every_cpu stacks;
  stacks->count_children(1);
  for (const bool of_child : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      stacks->after_fork_in_child(of_child);
      const bool before = stacks->are_possible();
      stacks->count_children(1), stacks->count_children(-1);
      _exit(before == !of_child && stacks->are_possible() == before ? 0 : 1);
    }
    EXPECT_EQ(check::status_of(child), 0);
  }
}

// A thread on one CPU pops and pushes; another, on another CPU, empties the first one's stacks again and
// again, and gives the blocks to the first. Without the barrier of stop() the first commits what it has read
// before.
TEST(core_stacks, hand_out_no_block_twice_while_another_cpu_empties_them) {
  if (!are_possible() || CPU_COUNT(&allowed_cpus()) < 2)
    GTEST_SKIP() << "no two CPUs that have restartable sequences";
  enum class where : unsigned { user, stack, box };
  struct token {
    atomic<where> is{where::box};
    // Whether it was there. relaxed: the place of the block alone is of interest.
    bool moves(where from, where to) { return is.exchange(to, std::memory_order_relaxed) == from; }
  };
  constexpr unsigned rounds = 100'000;
  stacks_of_every_cpu stacks;
  std::array<token, 3> tokens;
  atomic<unsigned> faults{0};
  atomic<unsigned> there{sequence_cpus};
  atomic<bool> ends{false};
  const auto expect = [&](bool is_so) {
    if (!is_so) faults.fetch_add(1, std::memory_order_relaxed);
  };
  std::thread user([&] {
    go_to_cpu(0);
    const unsigned cpu = stacks->cpu(), step_of_kind_0 = small_plan::steps(cpu)[0];
    there.store(cpu, std::memory_order_release);
    while (!ends.load(std::memory_order_relaxed)) {
      void* block = nullptr;
      if (stacks->try_pop_of_step(step_of_kind_0, block) == sequence_end::committed)
        expect(static_cast<token*>(block)->moves(where::stack, where::user));
      for (token& taken : tokens) {
        if (taken.is.load(std::memory_order_relaxed) == where::stack) continue;
        taken.is.store(where::stack, std::memory_order_relaxed);
        if (stacks->try_push(0, &taken) != sequence_end::committed)
          expect(taken.moves(where::stack, where::box));
      }
    }
  });
  go_to_cpu(1);
  while (there.load(std::memory_order_acquire) == sequence_cpus) std::this_thread::yield();
  const unsigned cpu = there.load(std::memory_order_relaxed);
  unsigned taken = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    ASSERT_TRUE(stacks->stop([&](unsigned stopped) { return stopped == cpu; }));
    stacks->take_all(cpu, [&](unsigned, void* block) {
      ++taken;
      expect(static_cast<token*>(block)->moves(where::stack, where::box));
    });
    stacks->resume();
  }
  ends.store(true, std::memory_order_relaxed);
  user.join();
  EXPECT_GT(taken, 100U);
  EXPECT_EQ(faults.load(std::memory_order_relaxed), 0U);
}

// Eight threads go from CPU to CPU while they pop and push blocks, and another stops all CPUs and empties
// their stacks again and again. Whoever has a block notes it in the block.
TEST(core_stacks, hand_out_no_block_twice_while_threads_migrate_and_stacks_are_emptied) {
  if (!are_possible()) GTEST_SKIP();
  struct token {
    atomic<bool> is_out{true};
  };
  constexpr unsigned threads = 8, tokens_of_thread = 6, rounds = 40'000;
  stacks_of_every_cpu stacks;
  std::vector<token> tokens(std::size_t{threads} * tokens_of_thread);
  atomic<unsigned> twice{0}, running{threads}, popped{0};
  std::vector<std::vector<void*>> left(threads + 1);
  // relaxed: the exchange alone tells that a block is taken twice; no other data depends on it.
  const auto take = [&](void* block) {
    if (static_cast<token*>(block)->is_out.exchange(true, std::memory_order_relaxed))
      twice.fetch_add(1, std::memory_order_relaxed);
  };
  const auto give = [](void* block) {
    static_cast<token*>(block)->is_out.store(false, std::memory_order_relaxed);
  };
  const auto work = [&](unsigned number) {
    std::vector<void*>& mine = left[number];
    for (unsigned i = 0; i < tokens_of_thread; ++i) mine.push_back(&tokens[number * tokens_of_thread + i]);
    std::uint32_t random = number;
    for (unsigned round = 0; round < rounds; ++round) {
      random = random * 1'664'525 + 1'013'904'223;
      const unsigned kind = (random >> 16) % 2;
      if (void* block = nullptr; stacks->try_pop_of_step(kind, block) == sequence_end::committed) {
        take(block);
        mine.push_back(block);
        popped.fetch_add(1, std::memory_order_relaxed);
      }
      if (!mine.empty()) {
        void* const block = mine.back();
        give(block);
        if (stacks->try_push(kind, block) == sequence_end::committed)
          mine.pop_back();
        else
          take(block);
      }
      if (round % 64 == 0) go_to_cpu(random >> 20);
    }
    running.fetch_sub(1, std::memory_order_release);
  };
  const auto empty = [&] {
    std::vector<void*>& mine = left[threads];
    for (bool is_last = false; !is_last;) {
      is_last = running.load(std::memory_order_acquire) == 0;
      for (; !mine.empty(); mine.pop_back()) {
        give(mine.back());
        if (stacks->try_push(0, mine.back()) == sequence_end::committed) continue;
        take(mine.back());
        break;
      }
      if (!stacks->stop([](unsigned) { return true; })) return;
      for (unsigned cpu = 0; cpu < stacks->end(); ++cpu)
        stacks->take_all(cpu, [&](unsigned, void* block) { take(block), mine.push_back(block); });
      stacks->resume();
    }
  };
  std::vector<std::thread> team;
  for (unsigned i = 0; i < threads; ++i) team.emplace_back(work, i);
  team.emplace_back(empty);
  for (std::thread& thread : team) thread.join();
  EXPECT_EQ(twice.load(std::memory_order_relaxed), 0U);
  EXPECT_GT(popped.load(std::memory_order_relaxed), 100U);
  std::size_t found = 0;
  for (const auto& some : left) found += some.size();
  EXPECT_EQ(found, tokens.size()) << "the last act was to empty the stacks";
  for (const token& taken : tokens) EXPECT_TRUE(taken.is_out.load(std::memory_order_relaxed));
}

}  // namespace
}  // namespace heaplab::concurrent
