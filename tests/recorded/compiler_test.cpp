#include "recorded/compiler.h"

#include <gtest/gtest.h>

#include "recorded/any_order.h"
#include "recorded/synthetic_program.h"

namespace heaplab {
namespace {

using recorded::action;
using recorded::operation;
using recorded::workload_view;
using testing::any_order;
using testing::censuses;
using testing::compiled;
using testing::kind;
using testing::scratch_file;
using testing::synthetic_program;

// The operations of a stream, without times and epochs.
std::vector<operation> operations_of(const workload_view& work, std::uint32_t stream) {
  std::vector<operation> all;
  for (const recorded::segment& piece : work.segments_of(work.streams()[stream]))
    for (const operation step : work.operations_of(piece))
      if (step.what() != action::wait_until && step.what() != action::pass_epoch) all.push_back(step);
  return all;
}

void expect_sound(const workload_view& work) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) EXPECT_EQ(any_order(work, seed).run(), "") << seed;
}

TEST(compiler, takes_the_slot_of_a_freed_block_again) {
  synthetic_program program;
  for (int i = 0; i < 3; ++i) program.release(1, program.acquire(1, 24));
  const compiled made(program);
  const std::vector<operation> done = operations_of(made.work, recorded::main_thread);
  ASSERT_EQ(done.size(), 6);
  for (std::size_t i = 0; i < done.size(); ++i)
    EXPECT_EQ(done[i], operation(i % 2 == 0 ? action::allocate : action::release, 0, 24)) << i;
}

TEST(compiler, gives_a_block_that_another_thread_frees_a_slot_of_its_own) {
  synthetic_program program;
  program.create(1, 2);
  for (int i = 0; i < 3; ++i) {
    program.release(1, program.acquire(1, 8));
    program.release(2, program.acquire(1, 24));
  }
  const compiled made(program);
  EXPECT_EQ(made.head.remote_releases, 3);
  std::vector<std::uint32_t> passed;
  for (const operation step : operations_of(made.work, recorded::main_thread + 1)) {
    EXPECT_TRUE(step.is_remote());
    passed.push_back(step.slot());
  }
  EXPECT_EQ(passed, (std::vector<std::uint32_t>{1, 2, 3}));
  expect_sound(made.work);
}

TEST(compiler, keeps_chains_of_reallocations_across_threads) {
  synthetic_program program;
  program.create(1, 2);
  std::uint64_t block = program.acquire(1, 10);
  for (const std::uint32_t thread : {1, 1, 2, 2, 1, 2})
    block = program.reallocate(thread, block, 1000 * thread);
  program.release(1, block);
  const compiled made(program);
  EXPECT_EQ(made.head.allocations, 1);
  EXPECT_EQ(made.head.reallocations, 6);
  EXPECT_EQ(made.head.remote_releases, 4);
  EXPECT_EQ(made.head.peak_live_bytes, 2000);
  expect_sound(made.work);
}

TEST(compiler, knows_reallocations_that_allocate_free_or_fail) {
  synthetic_program program;
  const std::uint64_t given = program.acquire(1, 10, kind::realloc_to);  // realloc(nullptr, 10)
  program.release(1, given, kind::realloc_from);                         // realloc(p, 0)
  const std::uint64_t kept = program.acquire(1, 20);
  program.write({.address = kept, .thread = 1, .kind = kind::realloc_from});
  program.write({.address = 0, .size = 1u << 30, .thread = 1, .kind = kind::realloc_to});
  program.release(1, kept);
  const compiled made(program);
  EXPECT_EQ(made.head.allocations, 2);
  EXPECT_EQ(made.head.reallocations, 0);
  EXPECT_EQ(made.head.releases, 2);
  EXPECT_EQ(made.head.failed_calls, 1);
  EXPECT_EQ(made.head.unknown_releases, 0);
  expect_sound(made.work);
}

TEST(compiler, keeps_the_function_the_size_and_the_alignment) {
  synthetic_program program;
  program.acquire(1, 100, kind::calloc);
  program.release(1, program.acquire(1, 200, kind::new_array), kind::delete_array_sized);
  program.release(1, program.acquire(1, 300, kind::new_object, 6), kind::delete_object, 6);
  program.release(1, program.acquire(1, 400, kind::posix_memalign, 12));
  program.release(1, program.acquire(1, std::uint64_t{1} << 40));
  const compiled made(program);
  const std::vector<operation> done = operations_of(made.work, recorded::main_thread);
  const std::vector<action> expected{
      action::allocate_zeroed, action::create,          action::destroy_sized,
      action::create_aligned,  action::destroy_aligned, action::allocate_aligned,
      action::release,         action::allocate,        action::release};
  ASSERT_EQ(done.size(), expected.size());
  for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i].what(), expected[i]) << i;
  EXPECT_EQ(made.work.sides()[done[3].value()], (recorded::side{300, 64}));
  EXPECT_EQ(made.work.sides()[done[5].value()], (recorded::side{400, 4096}));
  EXPECT_EQ(made.work.sides()[done[7].value()], (recorded::side{std::uint64_t{1} << 40, 0}));
  const std::vector<operation> left = operations_of(made.work, recorded::epilogue);
  ASSERT_EQ(left.size(), 1);
  EXPECT_EQ(left[0], operation(action::release, done[0].slot(), 100));
}

TEST(compiler, allocates_what_lived_already_before_everything_else) {
  const scratch_file file("living");
  recorded::compiler compiler(file.path, 1, testing::ticks_per_second);
  for (std::uint64_t i = 1; i <= 3; ++i)
    compiler.living({.address = i << 12, .size = 100 * i, .thread = 1, .kind = kind::malloc});
  compiler.add({.stamp = 10, .address = 1 << 12, .thread = 1, .kind = kind::free});
  compiler.add({.stamp = 20, .address = 2 << 12, .thread = 2, .kind = kind::free});
  EXPECT_EQ(compiler.finish().unknown_releases, 0);
  const workload_view work(file.path);
  EXPECT_EQ(operations_of(work, recorded::prologue).size(), 3);
  EXPECT_EQ(operations_of(work, recorded::epilogue).size(), 1);
  expect_sound(work);
}

TEST(compiler, counts_what_a_faulty_trace_holds) {
  synthetic_program program;
  program.release(1, 0x5000);
  const std::uint64_t twice = program.acquire(1, 10);
  program.write({.address = twice, .size = 20, .thread = 2, .kind = kind::new_object});
  const compiled made(program, 7);
  EXPECT_EQ(made.head.unknown_releases, 1);
  EXPECT_EQ(made.head.doubled_blocks, 1);
  EXPECT_EQ(made.head.lost_events, 7);
  expect_sound(made.work);
}

TEST(compiler, starts_and_joins_every_thread_once) {
  synthetic_program program;
  for (std::uint32_t thread = 2; thread <= 9; ++thread) {
    program.create(thread - 1, thread);
    program.release(thread, program.acquire(thread, 16));
    if (thread % 3 == 0) program.end(thread);
  }
  program.join(1, 3);
  program.release(3, program.acquire(1, 16));  // of a thread that was joined: the main thread does it
  const compiled made(program);
  EXPECT_EQ(made.work.streams().size(), recorded::main_thread + 9);
  std::vector<int> started(made.work.streams().size());
  std::vector<int> joined(made.work.streams().size());
  for (std::uint32_t stream = 0; stream < made.work.streams().size(); ++stream)
    for (const operation step : operations_of(made.work, stream)) {
      if (step.what() == action::start_thread) ++started[step.slot()];
      if (step.what() == action::join_thread) ++joined[step.slot()];
    }
  for (std::uint32_t stream = recorded::main_thread + 1; stream < started.size(); ++stream) {
    EXPECT_EQ(started[stream], 1) << stream;
    EXPECT_EQ(joined[stream], 1) << stream;
  }
  expect_sound(made.work);
}

TEST(compiler, starts_a_thread_where_the_program_did_if_the_trace_tells_in_time) {
  synthetic_program program;
  program.create(1, 2);
  program.create(2, 3);
  program.release(4, program.acquire(4, 16));
  program.create(2, 4);
  const compiled made(program);
  const auto starts = [&](std::uint32_t stream) {
    std::vector<std::uint32_t> started;
    for (const operation step : operations_of(made.work, stream))
      if (step.what() == action::start_thread) started.push_back(step.slot() - recorded::main_thread);
    return started;
  };
  EXPECT_EQ(starts(recorded::main_thread), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(starts(recorded::main_thread + 1), (std::vector<std::uint32_t>{2}));
}

TEST(compiler, makes_workloads_that_are_sound_in_any_order) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    const synthetic_program program = testing::swapping_program(8, 20'000, seed);
    const compiled made(program);
    EXPECT_EQ(made.head.unknown_releases + made.head.doubled_blocks, 0);
    EXPECT_GT(made.head.remote_releases, 10'000);
    EXPECT_GT(made.work.epochs().size(), 5);
    EXPECT_EQ(made.work.epochs().back().live_bytes, program.live_bytes());
    any_order order(made.work, seed);
    EXPECT_EQ(order.run(), "");
    EXPECT_EQ(order.meetings(), made.work.epochs().size());
  }
}

// Also where threads free and reallocate each other's blocks, so that slots change after a census.
TEST(compiler, lists_what_lives_at_each_census) {
  const synthetic_program program = testing::swapping_program(4, 4000, 5);
  for (const std::unordered_set<std::uint32_t>& apart : {std::unordered_set<std::uint32_t>{}, {1, 3}}) {
    const compiled made(program, censuses{500, apart});
    EXPECT_EQ(made.head.censuses, program.events.size() / 500 + 1);
    EXPECT_EQ(made.head.sites, 3);
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
      any_order order(made.work, seed);
      EXPECT_EQ(order.run(), "") << seed;
      EXPECT_EQ(order.censuses(), made.head.censuses);
    }
  }
}

TEST(compiler, tells_site_and_age_of_survivors) {
  synthetic_program program;
  program.at_site(7);
  program.acquire(1, 100);
  program.wait(5'000'000);  // 5 ms
  program.at_site(9);
  const std::uint64_t grown = program.acquire(1, 10);
  program.wait(1'000'000);
  program.at_site(8);
  program.reallocate(1, grown, 300);
  const compiled made(program, censuses{3});  // in the middle of the reallocation
  ASSERT_EQ(made.work.censuses().size(), 2);
  for (const recorded::census& taken : made.work.censuses()) {
    std::vector<recorded::survivor> found(made.work.survivors_of(taken).begin(),
                                          made.work.survivors_of(taken).end());
    ASSERT_EQ(found.size(), 2);
    if (found[0].site != 7) std::swap(found[0], found[1]);
    EXPECT_EQ(found[0].site, 7);
    EXPECT_EQ(found[0].bytes, 100);
    EXPECT_EQ(found[0].age_us, 6000);
    EXPECT_EQ(found[1].site, 8);
    EXPECT_EQ(found[1].bytes, 300);
    EXPECT_EQ(found[1].age_us, 0);
  }
}

TEST(compiler, gives_chosen_sites_a_heap_of_their_own) {
  synthetic_program program;
  program.at_site(1);
  const std::uint64_t block = program.acquire(1, 10);
  program.at_site(2);
  const std::uint64_t other = program.acquire(1, 20, kind::posix_memalign, 6);
  program.at_site(3);
  const std::uint64_t stays = program.reallocate(1, other, 30);  // a site that is not chosen
  program.at_site(2);
  const std::uint64_t moves = program.reallocate(1, block, 40);
  program.release(1, stays);
  program.release(1, moves);
  const compiled made(program, censuses{100, {2}});
  std::vector<action> done;
  for (const operation next : operations_of(made.work, recorded::main_thread)) done.push_back(next.what());
  using enum action;
  EXPECT_EQ(done, (std::vector<action>{allocate, allocate_apart, allocate_apart, release_apart,
                                       allocate_apart, release, release_apart, release_apart}));
  expect_sound(made.work);
}

// Slots follow what lives, not the length of the recording.
TEST(compiler, needs_no_more_slots_for_a_longer_recording) {
  synthetic_program program;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t block = program.acquire(1, 16);
    const std::uint64_t other = program.acquire(1, 16);
    program.release(1, block);
    program.release(1, program.reallocate(1, other, 32));
  }
  EXPECT_EQ(compiled(program).head.slots, 8);
}

TEST(compiler, writes_times_that_a_replay_can_keep) {
  synthetic_program program;
  program.release(1, program.acquire(1, 16));
  program.wait(100);
  for (int i = 0; i < 1000; ++i) program.release(1, program.acquire(1, 16));
  const compiled made(program);
  EXPECT_EQ(made.head.duration_us, 200);
  std::uint64_t last = 0;
  std::size_t times = 0;
  for (const recorded::segment& piece : made.work.segments_of(made.work.streams()[recorded::main_thread]))
    for (const operation step : made.work.operations_of(piece))
      if (step.what() == action::wait_until) {
        EXPECT_GE(step.time(), last + 10);
        last = step.time();
        ++times;
      }
  EXPECT_EQ(times, 20);
}

}  // namespace
}  // namespace heaplab
