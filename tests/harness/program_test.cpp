// What every workload does on the command line, seen from outside on the example workload.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/command.h"
#include "support/scratch_folder.h"

namespace heaplab::harness {
namespace {

using testing::outcome;
using testing::run_command;
using testing::scratch_folder;
using testing::text_of;

outcome run(const std::string& arguments) {
  return run_command(std::string(EXAMPLE_WORKLOAD) + " " + arguments);
}

// Refused with one line that says exactly this, and status 2.
void expect_refused(const std::string& arguments, const std::string& line) {
  const outcome refused = run(arguments + " 2>&1");
  EXPECT_EQ(refused.status, 2) << arguments;
  EXPECT_EQ(refused.output, "example_workload: " + line + "\n");
}

TEST(program, refuses_with_one_line_that_names_the_option_and_its_range) {
  expect_refused("--threads 0", "--threads: 0 is outside 1 to 256");
  expect_refused("--threads=257", "--threads: 257 is outside 1 to 256");
  expect_refused("--threads -1", "--threads: '-1' is not a count (1000, 10k); allowed is 1 to 256");
  expect_refused("--size 2GiB", "--size: 2GiB is outside 1 to 1GiB");
  expect_refused("--size 8XB", "--size: '8XB' is not a size (64, 8KiB, 2GB); allowed is 1 to 1GiB");
  expect_refused("--keep 101", "--keep: 101 is outside 0% to 100%");
  expect_refused("--touch some", "--touch: 'some' is not nothing, first or all");
  expect_refused("--pause 1d", "--pause: '1d' is not a duration (2s, 200ms, 5m); allowed is 0s to 10s");
  expect_refused("--pause 1m", "--pause: 1m is outside 0s to 10s");
  expect_refused("--seed x", "--seed: 'x' is not a count (1000, 10k); allowed is 0 or more");
}

TEST(program, refuses_text_that_is_empty_or_that_json_cannot_hold) {
  expect_refused("--json ''", "--json: the name of the file is empty");
  expect_refused("--note ''", "--note: the text is empty");
  expect_refused("--note \"$(printf 'a\\377')\"", "--note: the text is not UTF-8, which the JSON line needs");
}

TEST(program, refuses_numbers_that_are_none) {
  for (const char* text : {"nan", "inf", "-1", "1e999", ""})
    expect_refused(
        "--pause '" + std::string(text) + "'",
        "--pause: '" + std::string(text) + "' is not a duration (2s, 200ms, 5m); allowed is 0s to 10s");
  expect_refused("--seed 1e30", "--seed: '1e30' is not a count (1000, 10k); allowed is 0 or more");
  expect_refused("--threads ''", "--threads: '' is not a count (1000, 10k); allowed is 1 to 256");
}

TEST(program, refuses_impossible_combinations) {
  expect_refused("--slack 65", "--slack must not exceed --size");
}

TEST(program, refuses_what_it_does_not_know) {
  expect_refused("--thread 2", "unknown option --thread; did you mean --threads?");
  expect_refused("--frobnicate", "unknown option --frobnicate; see --help");
  expect_refused("17", "unexpected argument 17; see --help");
  expect_refused("-x", "unknown option -x; see --help");
}

TEST(program, refuses_a_missing_value) {
  const outcome refused = run("--threads 2>&1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(std::count(refused.output.begin(), refused.output.end(), '\n'), 1) << refused.output;
  EXPECT_TRUE(refused.output.find("--threads") != std::string::npos) << refused.output;
}

TEST(program, refuses_a_destination_it_cannot_write) {
  expect_refused("--json /no/such/folder/x.json",
                 "--json: cannot write to '/no/such/folder/x.json': No such file or directory");
  expect_refused("--json /tmp", "--json: cannot write to '/tmp': Is a directory");
  expect_refused("--json fd:77", "--json: cannot write to 'fd:77': Bad file descriptor");
  expect_refused("--json fd:x", "--json: cannot write to 'fd:x': Bad file descriptor");
}

TEST(program, shows_help_with_an_example_that_works) {
  const outcome help = run("--help");
  EXPECT_EQ(help.status, 0);
  for (const char* part : {"pairs of malloc and free, in each of some threads", "--threads COUNT",
                           "1 to 256; default 1", "--[no-]honest", "--seed", "--[no-]latency", "--json FILE"})
    EXPECT_TRUE(help.output.find(part) != std::string::npos) << part << "\n" << help.output;
  const std::size_t at = help.output.find("Example: example_workload ");
  ASSERT_NE(at, std::string::npos);
  const std::string arguments = help.output.substr(at + 26, help.output.find('\n', at) - at - 26);
  EXPECT_EQ(run(arguments).status, 0);
}

TEST(program, takes_the_last_of_repeated_options) {
  const outcome done = run("--size 1 --size 2 --honest --no-honest --honest --json -");
  EXPECT_EQ(done.status, 0);
  EXPECT_TRUE(done.output.find(R"("size":2,)") != std::string::npos) << done.output;
}

TEST(program, writes_one_line_with_everything_the_contract_asks) {
  const outcome done = run("--threads 2 --size 1KiB --note 'a\"b' --seed 5 --json -");
  ASSERT_EQ(done.status, 0);
  const std::string& line = done.output;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_TRUE(line.starts_with(
      R"({"schema":1,"workload":"example_workload","parameters":{"threads":2,"pairs":1000,"size":1024,"slack":0,)"
      R"("keep":0,"touch":"first","pause":0,"honest":true,"note":"a\"b","seed":5,)"))
      << line;
  for (const char* part :
       {R"(},"seed":5,"metrics":{)", R"("wall_time":{"value":)", R"("unit":"s"})", R"("user_time":)",
        R"("system_time":)", R"("minor_faults":)", R"("peak_memory":)", R"("end_memory":)",
        R"("page_tables":)", R"("pairs":{"value":2000,"unit":"1"})",
        R"("series":{"memory":{"unit":"B","points":[[)", R"("served_by":{"malloc":{"path":"/)",
        R"("operator new":{"path":"/)", R"("build_id":")"})
    EXPECT_TRUE(line.find(part) != std::string::npos) << part << "\n" << line;
  EXPECT_EQ(line.find("latency_p50"), std::string::npos);
}

// Also of what the machine does not have; nothing runs.
TEST(program, estimates_the_memory_of_a_run) {
  const outcome estimated = run("--estimate --threads 2 --size 1KiB --slack 8 --no-honest");
  EXPECT_EQ(estimated.status, 0);
  EXPECT_EQ(estimated.output, "{\"memory\":2056}\n");
  EXPECT_EQ(run("--estimate --threads 256 --size 1GiB").output, "{\"memory\":274877906944}\n");
  expect_refused("--estimate --threads 0", "--threads: 0 is outside 1 to 256");
  expect_refused("--estimate --slack 65", "--slack must not exceed --size");
}

TEST(program, refuses_what_the_machine_has_no_memory_for) {
  const outcome refused = run("--threads 256 --size 1GiB --pairs 1 --touch nothing 2>&1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_TRUE(
      refused.output.starts_with("example_workload: objects of --size need about 256 GiB of memory, and "))
      << refused.output;
}

TEST(program, writes_to_files_and_descriptors) {
  const scratch_folder folder;
  const std::string path = folder / "result.json";
  const outcome to_file = run("--json " + path);
  EXPECT_EQ(to_file.status, 0);
  EXPECT_TRUE(to_file.output.find("wall_time") != std::string::npos) << "the summary for people";
  EXPECT_TRUE(text_of(path).starts_with(R"({"schema":1,)"));
  EXPECT_EQ(run("--json fd:5 5>" + path).status, 0);
  EXPECT_TRUE(text_of(path).starts_with(R"({"schema":1,)"));
}

TEST(program, writes_to_a_new_file_in_the_current_folder) {
  const scratch_folder folder;
  const outcome done =
      run_command("cd " + folder.path.string() + " && " + EXAMPLE_WORKLOAD + " --json no --json x.json 2>&1");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_TRUE(std::filesystem::exists(folder / "x.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "no")) << "the last of repeated options counts";
}

TEST(program, offers_latencies) {
  const outcome done = run("--latency --pairs 10k --threads 2 --json -");
  ASSERT_EQ(done.status, 0);
  for (const char* part : {R"("allocation_latency_p50":{"value":)", "allocation_latency_p999",
                           "free_latency_p99", "free_latency_max", "free_latency_samples", "latency_step"})
    EXPECT_TRUE(done.output.find(part) != std::string::npos) << part;
}

TEST(program, counts_what_a_pitfall_does_in_every_call) {
  for (const char* pitfall : {"ordered-count", "shared-line"}) {
    const outcome done = run(std::string("--pairs 10k --threads 2 --json - --pitfall ") + pitfall);
    ASSERT_EQ(done.status, 0);
    EXPECT_TRUE(done.output.find(R"("calls_counted":{"value":40000)") != std::string::npos) << done.output;
  }
  const outcome timed = run("--pairs 10k --threads 2 --json - --pitfall timed-calls");
  ASSERT_EQ(timed.status, 0);
  EXPECT_TRUE(timed.output.find(R"("time_in_calls":{)") != std::string::npos) << timed.output;
  EXPECT_TRUE(run("--json -").output.find("calls_counted") == std::string::npos);
}

TEST(program, takes_no_pitfall_beside_latencies) {
  const outcome done = run("--latency --pitfall shared-line 2>&1");
  EXPECT_EQ(done.status, 2);
  EXPECT_TRUE(done.output.find("--latency and --pitfall exclude each other") != std::string::npos)
      << done.output;
}

TEST(program, measures_the_memory_left) {
  const outcome done = run("--memory-left --json -");
  EXPECT_EQ(done.status, 0);
  EXPECT_TRUE(done.output.find(R"("memory_left_100ms":{)") != std::string::npos);
  EXPECT_TRUE(done.output.find(R"("memory_left_1s":{)") != std::string::npos);
}

// A run whose self-check fails leaves no number behind.
TEST(program, fails_with_its_self_check) {
  const outcome failed = run("--no-honest --json - 2>&1");
  EXPECT_EQ(failed.status, 1);
  EXPECT_EQ(failed.output, "example_workload: self-check failed: honesty\n");
}

TEST(program, keeps_an_earlier_result_until_there_is_a_new_one) {
  const scratch_folder folder;
  const std::string path = folder / "result.json";
  const std::string earlier(10'000, 'x');
  std::ofstream(path) << earlier;
  EXPECT_EQ(run("--no-honest --json " + path + " 2>&1").status, 1);
  EXPECT_EQ(std::filesystem::file_size(path), earlier.size());
  EXPECT_EQ(run("--json " + path).status, 0);
  EXPECT_TRUE(text_of(path).starts_with(R"({"schema":1,)"));
  EXPECT_EQ(text_of(path).find("xxx"), std::string::npos);
}

// A file may not grow beyond one block here: the write fails in the middle, as on a full disk.
TEST(program, keeps_an_earlier_result_on_a_full_disk) {
  const scratch_folder folder;
  const std::string path = folder / "result.json", earlier(2'000, 'x');
  std::ofstream(path) << earlier;
  std::filesystem::create_symlink("result.json", folder / "link");
  const std::string limited = "trap '' XFSZ; ulimit -f 1; " + std::string(EXAMPLE_WORKLOAD) + " --note " +
                              std::string(2'000, 'n') + " --json ";
  for (const std::string& target : {path, folder / "link", folder / "new"}) {
    const outcome failed = run_command(limited + target + " 2>&1");
    EXPECT_EQ(failed.status, 1);
    EXPECT_EQ(failed.output,
              "example_workload: --json: writing to '" + target + "' failed: File too large\n");
  }
  EXPECT_EQ(text_of(path), earlier);
  const auto files = std::filesystem::directory_iterator(folder.path);
  EXPECT_EQ(std::distance(begin(files), end(files)), 2) << "the result and the link to it";
}

TEST(program, replaces_what_a_link_points_to_and_keeps_its_mode) {
  const scratch_folder folder;
  std::ofstream(folder / "result.json") << "earlier";
  std::filesystem::permissions(folder / "result.json", std::filesystem::perms{0640});
  std::filesystem::create_symlink("result.json", folder / "link");
  EXPECT_EQ(run_command("umask 077; " + std::string(EXAMPLE_WORKLOAD) + " --json " + folder / "link").status,
            0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_GT(std::filesystem::file_size(folder / "result.json"), 100U);
  EXPECT_EQ(std::filesystem::status(folder / "result.json").permissions(), std::filesystem::perms{0640});
  EXPECT_EQ(run_command("umask 027; " + std::string(EXAMPLE_WORKLOAD) + " --json " + folder / "new").status,
            0);
  EXPECT_EQ(std::filesystem::status(folder / "new").permissions(), std::filesystem::perms{0640});
}

TEST(program, reports_a_full_disk) {
  const outcome failed = run("--json /dev/full 2>&1");
  EXPECT_EQ(failed.status, 1);
  EXPECT_EQ(failed.output,
            "example_workload: --json: writing to '/dev/full' failed: No space left on device\n");
  EXPECT_EQ(run("2>/dev/null >/dev/full").status, 1);
}

TEST(program, reports_a_closed_pipe) {
  const outcome failed = run_command(std::string("( { ") + EXAMPLE_WORKLOAD +
                                     " --memory-left --json - 2>&3; echo $? >&3; } | true ) 3>&1");
  EXPECT_EQ(failed.output, "example_workload: --json: writing to '-' failed: Broken pipe\n1\n");
}

TEST(program, leaves_no_half_line_when_interrupted) {
  const scratch_folder folder;
  const std::string path = folder / "result.json";
  const outcome stopped =
      run_command(std::string("timeout -s INT 0.2 ") + EXAMPLE_WORKLOAD + " --pairs 1G --json " + path);
  EXPECT_EQ(stopped.status, 124);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(program, refuses_more_threads_than_the_system_gives) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory exceeds any limit
  const outcome refused =
      run_command(std::string("ulimit -v 500000; ") + EXAMPLE_WORKLOAD + " --threads 256 2>&1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.output,
            "example_workload: 256 threads: cannot create a thread: Resource temporarily unavailable\n");
#endif
}

}  // namespace
}  // namespace heaplab::harness
