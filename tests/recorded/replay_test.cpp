// The program that replays, seen from outside.
#include <gtest/gtest.h>

#include <fstream>

#include "recorded/synthetic_program.h"
#include "support/command.h"
#include "support/residency.h"
#include "support/sample.h"

namespace heaplab {
namespace {

using testing::censuses;
using testing::compiled;
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
  const synthetic_program program = testing::swapping_program(8, 2'000, 3);
  const compiled made(program);
  for (const char* options :
       {"", "--fill none", "--fill all", "--marks", "--drift 0", "--latency", "--driver-alone",
        "--at-end leak", "--pace recorded", "--aged 1:30%", "--shift 44KiB"}) {
    const outcome done = replay(made.file.path, options);
    ASSERT_EQ(done.status, 0) << options << done.output;
    EXPECT_EQ(metric(done, "calls"), made.head.allocations + made.head.reallocations + made.head.releases)
        << done.output;
    EXPECT_EQ(metric(done, "threads_started"), 7);
    EXPECT_EQ(metric(done, "remote_releases"), made.head.remote_releases);
  }
}

TEST(replay, looks_at_memory_where_all_threads_meet) {
  const compiled made(testing::swapping_program(4, 20'000, 4));
  const outcome done = replay(made.file.path, "--marks");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_GT(metric(done, "marks"), 5) << done.output;
  EXPECT_GT(metric(done, "average_live_bytes"), 64 * 100);
  EXPECT_GE(metric(done, "memory_per_live"), 0.1);
}

TEST(replay, trims_as_often_as_the_time_of_the_recording_says) {
  synthetic_program program;
  for (int phase = 0; phase < 10; ++phase) {
    for (int i = 0; i < 600; ++i) program.release(1, program.acquire(1, 1000));
    program.wait(static_cast<std::uint64_t>(testing::ticks_per_second / 100));
  }
  const compiled made(program);
  EXPECT_EQ(metric(replay(made.file.path, "--trim-every 10ms"), "trims"), 9);
  EXPECT_EQ(metric(replay(made.file.path, "--trim-every 20ms"), "trims"), 4);
  EXPECT_EQ(metric(replay(made.file.path, "--trim-every 1h"), "trims"), 0);
}

// A line of a census, as far as tests need it.
struct census_line {
  std::string text;

  std::uint64_t number(const std::string& name) const {
    const std::string key = '"' + name + "\":";
    const std::size_t at = text.find(key);
    EXPECT_NE(at, std::string::npos) << name << text;
    return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
  }
  bool is(const std::string& why) const { return text.find(R"("why":")" + why + '"') != std::string::npos; }
  // Site, blocks, bytes, pages, pinned, together, ages, oldest.
  std::vector<std::vector<std::uint64_t>> sites() const { return rows("sites"); }
  // Used, pinned and retained bytes of all cells together.
  std::vector<std::uint64_t> map() const {
    std::vector<std::uint64_t> sums(3);
    for (const std::vector<std::uint64_t>& cell : rows("map"))
      for (std::size_t kind = 0; kind < sums.size(); ++kind) sums[kind] += cell[kind];
    return sums;
  }

private:
  std::vector<std::vector<std::uint64_t>> rows(const std::string& name) const {
    const std::string key = '"' + name + "\":[";
    std::vector<std::vector<std::uint64_t>> found;
    for (std::size_t at = text.find(key) + key.size(); text[at] == '['; at += 2) {
      found.emplace_back();
      while (text[at] != ']') {
        char* end = nullptr;
        found.back().push_back(std::strtoull(text.c_str() + at + 1, &end, 10));
        at = static_cast<std::size_t>(end - text.c_str());
      }
    }
    return found;
  }
};

std::vector<census_line> censuses_of(const std::string& path, const std::string& options = "") {
  const scratch_file census("census");
  const outcome done = replay(path, "--census " + census.path + " " + options);
  EXPECT_EQ(done.status, 0) << done.output;
  std::ifstream in(census.path);
  std::vector<census_line> found;
  for (std::string line; std::getline(in, line);) found.push_back({line});
  return found;
}

// Blocks are longer than a page and every second survives, so that a page without a survivor lies inside a
// single freed block.
TEST(replay, tells_at_a_census_what_holds_the_memory) {
  if (!testing::own_pages_are_told()) GTEST_SKIP() << "an emulator runs this";
  constexpr std::uint64_t blocks = 400, bytes = 5000;
  synthetic_program program;
  std::vector<std::uint64_t> freed;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    program.at_site(1 + i % 2);
    const std::uint64_t block = program.acquire(1, bytes);
    if (i % 2 == 0) freed.push_back(block);
  }
  for (const std::uint64_t block : freed) program.release(1, block);
  const compiled made(program, censuses{blocks});
  for (const char* options : {"--fill all", "--fill all --trim"}) {
    const std::vector<census_line> found = censuses_of(made.file.path, options);
    ASSERT_EQ(found.size(), 2) << options;
    EXPECT_TRUE(found[0].is("sample"));
    EXPECT_EQ(found[0].number("live_blocks"), blocks);
    EXPECT_EQ(found[0].number("live"), blocks * bytes);
    EXPECT_EQ(found[0].number("retained"), 0);
    // Blocks of both sites by turns: some pages are pinned by both together.
    const std::vector<std::vector<std::uint64_t>> both = found[0].sites();
    ASSERT_EQ(both.size(), 2);
    EXPECT_LT(both[0][5], found[0].number("pinned")) << found[0].text;
    EXPECT_EQ(both[1][5], found[0].number("pinned")) << found[0].text;
    const census_line& end = found[1];
    EXPECT_TRUE(end.is("end"));
    EXPECT_EQ(end.number("live"), blocks / 2 * bytes);
    EXPECT_GE(end.number("pinned"), blocks / 8 * bytes) << end.text;
    std::uint64_t parts = 0;
    for (const char* part : {"live", "rounding", "pinned", "retained", "own"}) parts += end.number(part);
    EXPECT_NEAR(static_cast<double>(parts), static_cast<double>(end.number("memory")), 256 * 1024)
        << end.text;
    // The map splits the same pages.
    for (const census_line& line : found) {
      const std::vector<std::uint64_t> mapped = line.map();
      EXPECT_EQ(mapped[0], line.number("live") + line.number("rounding"));
      EXPECT_EQ(mapped[1], line.number("pinned"));
      EXPECT_EQ(mapped[2], line.number("retained"));
    }
    ASSERT_EQ(end.sites().size(), 1);
    const std::vector<std::uint64_t> site = end.sites()[0];
    EXPECT_EQ(site[0], 2);
    EXPECT_EQ(site[1], blocks / 2);
    EXPECT_EQ(site[2], blocks / 2 * bytes);
    EXPECT_EQ(site[4], end.number("pinned"));
    EXPECT_EQ(site[5], end.number("pinned"));
  }
}

TEST(replay, leaves_out_samples_alone) {
  if (!testing::own_pages_are_told()) GTEST_SKIP() << "an emulator runs this";
  const compiled made(testing::swapping_program(2, 1000, 8), censuses{500});
  std::vector<census_line> kept = censuses_of(made.file.path);
  EXPECT_GT(std::erase_if(kept, [](const census_line& line) { return line.is("sample"); }), 0);
  const std::vector<census_line> found = censuses_of(made.file.path, "--no-samples");
  ASSERT_EQ(found.size(), kept.size());
  for (std::size_t place = 0; place < found.size(); ++place)
    EXPECT_EQ(found[place].number("time_us"), kept[place].number("time_us"));
}

TEST(replay, takes_censuses_where_threads_swap_blocks) {
  if (!testing::own_pages_are_told()) GTEST_SKIP() << "an emulator runs this";
  const synthetic_program program = testing::swapping_program(4, 20'000, 8);
  for (const std::unordered_set<std::uint32_t>& apart : {std::unordered_set<std::uint32_t>{}, {1, 2}}) {
    const compiled made(program, censuses{3000, apart});
    const std::vector<census_line> found = censuses_of(made.file.path, "--fill all");
    ASSERT_EQ(found.size(), made.head.censuses);
    for (const census_line& line : found) {
      EXPECT_EQ(line.number("live"), line.number("live_bytes"));
      std::uint64_t blocks = 0, shared = 0;
      for (const std::vector<std::uint64_t>& site : line.sites()) {
        blocks += site[1];
        shared += site[4];
        EXPECT_LE(site[6], site[1] * site[7]);  // no age is above the oldest
      }
      EXPECT_EQ(blocks, line.number("live_blocks"));
      // What sites share may lose a byte a page for each further site.
      EXPECT_LE(shared, line.number("pinned"));
      EXPECT_GE(shared + 1000, line.number("pinned"));
      EXPECT_EQ(line.sites().back()[5], line.number("pinned"));
    }
  }
}

// 20 episodes of 10 MB, of which half lives at a time, whose blocks a monotonic allocator gives back
// together, and reuses none of.
TEST(replay, serves_blocks_apart_by_a_local_allocator_of_each_thread) {
  synthetic_program program;
  program.at_site(1);
  for (int episode = 0; episode < 20; ++episode) {
    std::vector<std::uint64_t> blocks;
    for (int i = 0; i < 5000; ++i) blocks.push_back(program.acquire(1, 1000));
    for (int i = 0; i < 5000; ++i) program.release(1, program.acquire(1, 1000));
    for (const std::uint64_t block : blocks) program.release(1, block);
  }
  const compiled made(program, censuses{500, {1}});
  const auto peak = [&](const char* kind) {
    const outcome done = replay(made.file.path, std::string("--apart ") + kind);
    EXPECT_EQ(done.status, 0) << done.output;
    EXPECT_EQ(metric(done, "calls"), 400'000);
    return metric(done, "peak_memory");
  };
  const double pooled = peak("multipool"), arena = peak("monotonic"), both = peak("both");
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer keeps the memory of freed chunks";
#endif
  EXPECT_GT(arena, pooled + 3e6);
  EXPECT_LT(arena, pooled + 20e6);  // the episodes together are 200 MB
  EXPECT_LT(both, pooled + 3e6);
}

TEST(replay, refuses_a_local_allocator_for_blocks_that_another_thread_frees) {
  const compiled made(testing::swapping_program(2, 1000, 8), censuses{500, {1, 2}});
  const outcome done = replay(made.file.path, "--apart multipool");
  EXPECT_EQ(done.status, 1);
  EXPECT_NE(done.output.find("--apart: a local allocator may not serve"), std::string::npos) << done.output;
}

TEST(replay, keeps_the_recorded_pace) {
  synthetic_program program;
  const std::uint64_t block = program.acquire(1, 10);
  program.wait(100'000'000);  // 100 ms
  program.release(1, block);
  const compiled made(program);
  EXPECT_GE(metric(replay(made.file.path, "--pace recorded"), "wall_time"), 0.1);
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
  const compiled made(program);
  const outcome done = replay(made.file.path, "--fill all");
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
  const compiled plain(testing::swapping_program(1, 10, 1));
  refused("--file " + plain.file.path + " --census x",
          "--census: " + plain.file.path + " was compiled without --census");
  refused("--file x --trim", "--trim goes with --census");
  refused("--file x --no-samples", "--no-samples goes with --census");
  refused("--file x --census y --latency", "--census goes without --latency");
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
