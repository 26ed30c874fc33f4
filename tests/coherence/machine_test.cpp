// What the simulated machine counts.
#include "coherence/machine.h"

#include <gtest/gtest.h>

#include <array>

#include "base/cache_line.h"
#include "coherence/directory.h"
#include "coherence/plain_access.h"
#include "coherence/simulated_sync.h"

namespace heaplab::coherence {
namespace {

TEST(machine, directory_moves_a_line_that_another_core_has) {
  directory simulated;
  EXPECT_EQ(simulated.read(0, 7), move::none) << "from memory";
  EXPECT_EQ(simulated.write(0, 7), move::none) << "the only copy";
  EXPECT_EQ(simulated.read(1, 7), move::within_node);
  EXPECT_EQ(simulated.read(0, 7), move::none) << "both have a copy";
  EXPECT_EQ(simulated.read(1, 7), move::none);
  EXPECT_EQ(simulated.write(0, 7), move::within_node) << "the other copy goes";
  EXPECT_EQ(simulated.write(0, 7), move::none);
  EXPECT_EQ(simulated.write(1, 7), move::within_node);
  EXPECT_EQ(simulated.read(0, 8), move::none) << "another line";
}

TEST(machine, directory_knows_the_last_core) {
  directory simulated;
  EXPECT_EQ(simulated.write(core_limit - 1, 7), move::none);
  EXPECT_EQ(simulated.write(0, 7), move::within_node);
}

TEST(machine, directory_tells_the_node_that_a_line_came_from) {
  directory simulated;
  simulated.place([](unsigned core) { return core / 2; });
  EXPECT_EQ(simulated.read(0, 7), move::none);
  EXPECT_EQ(simulated.read(2, 7), move::between_nodes);
  EXPECT_EQ(simulated.read(3, 7), move::within_node) << "core 2 provides the line";
  EXPECT_EQ(simulated.write(3, 7), move::between_nodes) << "the copy of core 0 goes";
  EXPECT_EQ(simulated.write(2, 7), move::within_node);
}

struct alignas(cache_line_bytes) own_line {
  int number = 0;
};

TEST(machine, sees_accesses_that_are_not_atomic) {
  machine simulated;
  static std::array<own_line, 2> lines;
  EXPECT_EQ(simulated.run(0, [&] { add_one(lines[0].number); }).transfers, 0U);
  const counts read = simulated.run(1, [&] { look_at(lines[0].number); });
  EXPECT_EQ(read.transfers, 1U);
  EXPECT_EQ(read.write_transfers, 0U);
  EXPECT_EQ(simulated.run(1, [&] { add_one(lines[0].number); }).write_transfers, 1U);
  EXPECT_EQ(simulated.run(0, [&] { add_one(lines[1].number); }).transfers, 0U) << "a line of its own";
}

TEST(machine, sees_nothing_between_the_turns_of_cores) {
  machine simulated;
  static own_line line;
  add_one(line.number);
  EXPECT_EQ(simulated.run(0, [&] { add_one(line.number); }).transfers, 0U);
  EXPECT_EQ(machine::running(), nullptr);
}

TEST(machine, leaves_the_stack_out) {
  machine simulated;
  int number = 0;
  simulated.run(0, [&] { add_one(number); });
  EXPECT_EQ(simulated.run(1, [&] { add_one(number); }).transfers, 0U);
}

TEST(machine, counts_the_lines_of_a_large_access) {
  machine simulated;
  static std::array<own_line, 3> lines;
  simulated.run(0, [&] { simulated.write(&lines, sizeof(lines)); });
  EXPECT_EQ(simulated.run(1, [&] { simulated.read(&lines[0].number + 1, 2 * cache_line_bytes); }).transfers,
            3U);
}

TEST(machine, simulated_sync_counts_changes_and_moves_lines) {
  machine simulated;
  alignas(cache_line_bytes) static simulated_sync::atomic<int> number{0};
  EXPECT_EQ(simulated.run(0, [&] { number.store(1); }).atomic_changes, 0U);
  EXPECT_EQ(simulated.run(1, [&] { number.load(); }).transfers, 1U);
  int expected = 5;
  const counts failed = simulated.run(0, [&] { EXPECT_FALSE(number.compare_exchange_strong(expected, 6)); });
  EXPECT_EQ(failed.atomic_changes, 1U);
  EXPECT_EQ(failed.write_transfers, 1U) << "a comparison that fails takes the line as well";
  EXPECT_EQ(simulated.run(1, [&] { number.fetch_add(1); }).atomic_changes, 1U);
}

}  // namespace
}  // namespace heaplab::coherence
