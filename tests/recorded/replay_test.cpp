// The program that replays, seen from outside.
#include <gtest/gtest.h>

#include "recorded/synthetic_program.h"
#include "support/command.h"
#include "support/sample.h"

namespace heaplab {
namespace {

using testing::kind;
using testing::metric;
using testing::outcome;
using testing::scratch_file;
using testing::synthetic_program;

outcome replay(const std::string& path, const std::string& options = "") {
  // Blocks that are left on request are no fault.
  return testing::run_command("ASAN_OPTIONS=detect_leaks=0 " PROGRAMS "/replay --file " + path +
                              " --json - " + options + " 2>&1");
}

// Every way to replay the same file.
TEST(replay, carries_out_what_eight_threads_did) {
  const synthetic_program program = testing::swapping_program(8, 10'000, 3);
  const scratch_file file("eight");
  const recorded::header head = compile(program, file.path);
  for (const char* options : {"", "--fill none", "--fill all", "--marks", "--drift 0", "--latency",
                              "--driver-alone", "--at-end leak", "--pace recorded", "--aged 1:30%"}) {
    const outcome done = replay(file.path, options);
    ASSERT_EQ(done.status, 0) << options << done.output;
    EXPECT_EQ(metric(done, "calls"), head.allocations + head.reallocations + head.releases) << done.output;
    EXPECT_EQ(metric(done, "threads_started"), 7);
    EXPECT_EQ(metric(done, "remote_releases"), head.remote_releases);
  }
}

TEST(replay, looks_at_memory_where_all_threads_meet) {
  const scratch_file file("marks");
  compile(testing::swapping_program(4, 20'000, 4), file.path);
  const outcome done = replay(file.path, "--marks");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_GT(metric(done, "marks"), 5) << done.output;
  EXPECT_GT(metric(done, "average_live_bytes"), 64 * 100);
  EXPECT_GE(metric(done, "memory_per_live"), 0.1);
}

TEST(replay, keeps_the_recorded_pace) {
  synthetic_program program;
  const std::uint64_t block = program.acquire(1, 10);
  program.wait(100'000'000);  // 100 ms
  program.release(1, block);
  const scratch_file file("pace");
  compile(program, file.path);
  EXPECT_GE(metric(replay(file.path, "--pace recorded"), "wall_time"), 0.1);
}

// Blocks of more than 25 bits of size, of no bytes, of functions with an alignment.
TEST(replay, calls_every_function) {
  synthetic_program program;
  program.release(1, program.acquire(1, 50 << 20));
  program.release(1, program.acquire(1, 0));
  program.release(1, program.acquire(1, 0, kind::calloc));
  program.release(1, program.acquire(1, 100, kind::memalign, 2));
  program.release(1, program.acquire(1, 100, kind::valloc));
  program.release(1, program.acquire(1, 100, kind::new_object), kind::delete_object_sized);
  program.release(1, program.acquire(1, 300, kind::new_array, 6), kind::delete_array, 6);
  program.release(1, program.reallocate(1, program.acquire(1, 100, kind::calloc), 40 << 20));
  program.acquire(1, 10, kind::new_object);
  program.acquire(1, 20, kind::new_object, 5);
  const scratch_file file("functions");
  compile(program, file.path);
  const outcome done = replay(file.path, "--fill all");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_EQ(metric(done, "peak_live"), 50 << 20);
}

TEST(replay, refuses_in_one_line) {
  const auto refused = [](const std::string& options, const std::string& line) {
    const outcome done = testing::run_command(std::string(PROGRAMS) + "/replay " + options + " 2>&1");
    EXPECT_EQ(done.status, 2) << options;
    EXPECT_EQ(done.output, "replay: " + line + "\n");
  };
  refused("", "--file: name a workload file to replay");
  refused("--file no/such", "--file: no/such: No such file or directory");
  refused("--file .", "--file: .: not a file");
  refused("--file " PROGRAMS "/replay", "--file: " PROGRAMS "/replay: not a workload file");
  refused("--file x --driver-alone --fill all", "--driver-alone fills nothing");
}

// A file whose live bytes are not what its operations leave.
TEST(replay, notices_bytes_that_are_not_those_of_the_recording) {
  const scratch_file file("wrong");
  {
    recorded::workload_writer writer(file.path);
    for (std::uint32_t stream = 0; stream <= recorded::main_thread; ++stream) writer.add_stream();
    writer.add(recorded::main_thread, recorded::operation(recorded::action::allocate, 0, 10));
    writer.add(recorded::main_thread, recorded::operation(recorded::action::pass_epoch, 0));
    writer.add(recorded::epilogue, recorded::operation(recorded::action::release, 0, 10));
    writer.add_epoch({.time_us = 1, .live_bytes = 11, .live_blocks = 1, .threads = 1});
    recorded::header head;
    head.slots = 1;
    writer.finish(head);
  }
  const outcome done = replay(file.path);
  EXPECT_EQ(done.status, 1);
  EXPECT_EQ(done.output,
            "replay: self-check failed: the same bytes live at every mark as in the recording\n");
}

}  // namespace
}  // namespace heaplab
