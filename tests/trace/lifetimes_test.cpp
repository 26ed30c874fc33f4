#include "trace/profile/lifetimes.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "support/scratch_folder.h"
#include "trace/file/trace_writer.h"
#include "trace/profile/last_act.h"
#include "trace/profile/profile.h"

namespace heaplab::trace {
namespace {

constexpr std::uint64_t a_second = 1000;

event got(std::uint64_t stamp, std::uint64_t address, std::uint32_t site = 1, std::uint32_t thread = 1) {
  return {
      .stamp = stamp, .address = address, .size = 10, .thread = thread, .site = site, .kind = kind::malloc};
}

event freed(std::uint64_t stamp, std::uint64_t address) {
  return {.stamp = stamp, .address = address, .thread = 1, .kind = kind::free};
}

std::uint64_t sum(const auto& of) {
  return std::accumulate(of.begin(), of.end(), std::uint64_t{0});
}

// Site 1 keeps each fourth block, and site 2 frees each after 8 acquisitions; 6400 of both.
profile leaking(const last_act& last) {
  profile found(a_second, last);
  for (std::uint64_t i = 0; i < 3200; ++i) {
    found.see(got(10 * i, 16 * (2 * i + 1), 1));
    if (i % 4 != 0) found.see(freed(10 * i + 1, 16 * (2 * i + 1)));
    if (i >= 4) found.see(freed(10 * i + 2, 16 * (2 * (i - 4) + 2)));
    found.see(got(10 * i + 3, 16 * (2 * i + 2), 2));
  }
  return found;
}

TEST(lifetimes, counts_blocks_by_the_acquisitions_that_they_outlive) {
  profile found = leaking({.begin = UINT64_MAX, .acquisitions = 6400});
  found.end();
  const auto& sites = found.lifetimes_by_site().sites();
  EXPECT_EQ(sites[1].released[0], 2400U);  // no other acquisition in between
  EXPECT_EQ(sum(sites[1].released), 2400U);
  EXPECT_EQ(sites[2].released[3], 3196U);  // seven others between, or one less
  EXPECT_EQ(sum(sites[2].released), 3196U);
}

TEST(lifetimes, survivors_have_ages_and_the_cohorts_of_their_births) {
  profile found = leaking({.begin = UINT64_MAX, .acquisitions = 6400});
  found.end();
  const auto& of = found.lifetimes_by_site();
  const lifetimes::survivors& kept = of.surviving().at(1);
  for (const amount& cohort : kept.by_cohort) {
    EXPECT_NEAR(static_cast<double>(cohort.blocks), 800.0 / 64, 1.0);
    EXPECT_EQ(cohort.bytes, 10 * cohort.blocks);
  }
  EXPECT_EQ(sum(kept.ages), 800U);
  EXPECT_NEAR(static_cast<double>(kept.ages[13]), (6400 - 4096) / 8.0, 1.0);
  EXPECT_EQ(sum(of.surviving().at(2).ages), 4U);
  EXPECT_EQ(of.surviving().at(2).by_cohort[63].blocks, 4U);
  EXPECT_EQ(of.stamps().size(), 63U);
  ASSERT_EQ(of.sites()[1].course.size(), 63U);
  for (std::size_t i = 0; i < 63; ++i)
    EXPECT_NEAR(static_cast<double>(of.sites()[1].course[i]), 10 * 12.5 * static_cast<double>(i + 1), 10.0);
}

TEST(lifetimes, what_the_last_act_frees_lived_until_then) {
  profile found = leaking({.begin = 40'000, .acquisitions = 6400});
  for (std::uint64_t i = 0; i < 3200; i += 4) found.see(freed(40'000 + i, 16 * (2 * i + 1)));
  found.see(got(44'000, 16, 1));
  found.see(freed(44'001, 16));
  found.end();
  const auto& of = found.lifetimes_by_site();
  EXPECT_EQ(sum(of.surviving().at(1).ages), 800U);
  EXPECT_EQ(of.sites()[1].released_last.blocks, 800U);
  EXPECT_EQ(of.sites()[1].released_last.bytes, 8000U);
  EXPECT_EQ(sum(of.sites()[1].released), 2400U);
}

TEST(lifetimes, nobody_knows_how_long_blocks_lived_that_were_there_before) {
  profile found(a_second, {.begin = UINT64_MAX, .acquisitions = 2});
  found.lived(got(0, 16, 1, 0));
  found.lived(got(0, 32, 1, 0));
  for (const event& e : {got(1, 48), freed(2, 16), got(3, 64, 2)}) found.see(e);
  found.end();
  const auto& of = found.lifetimes_by_site();
  EXPECT_EQ(sum(of.sites()[1].released), 0U);
  EXPECT_EQ(sum(of.surviving().at(1).ages), 1U);
  EXPECT_EQ(of.surviving().at(1).ages[1], 1U);
}

class lifetimes_last_act : public ::testing::Test {
protected:
  // Begins at stamp 0, and ends at `end` if that is told.
  last_act found(const std::vector<event>& events, std::uint64_t end = 0,
                 std::uint64_t ticks_per_second = 0) {
    const testing::scratch_folder folder;
    trace_writer to(folder / "x.trace");
    properties process;
    process.set("ticks_per_second", ticks_per_second);
    to.begin_process(process);
    const std::vector<std::uint64_t> frames{1};
    to.add_site(frames);
    std::uint64_t acquisitions = 0;
    for (const event& e : events) {
      to.add(e);
      acquisitions += is_acquisition(e.kind) ? 1 : 0;
    }
    properties summary;
    summary.set("acquisitions", acquisitions);
    if (end != 0) summary.set("end_ticks", end);
    to.end_process(summary);
    to.close();
    trace_file file(folder / "x.trace");
    return last_act_of(file, 0);
  }

  static void acquire(std::vector<event>& to, std::uint64_t from, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) to.push_back(got(from + i, 16 * (i + 1)));
  }
  static void release(std::vector<event>& to, std::uint64_t from, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) to.push_back(freed(from + i, 16 * (i + 1)));
  }
};

TEST_F(lifetimes_last_act, begins_with_the_releases_that_end_the_run) {
  std::vector<event> events;
  acquire(events, 0, 1000);
  release(events, 20'000, 1000);
  events.push_back(got(21'000, 16));
  events.push_back(freed(21'001, 16));
  const last_act act = found(events);
  EXPECT_EQ(act.begin, 20'000U);
  EXPECT_EQ(act.acquisitions, 1000U);
}

TEST_F(lifetimes_last_act, releases_before_a_rest_are_none) {
  std::vector<event> events;
  acquire(events, 0, 1000);
  release(events, 20'000, 1000);
  EXPECT_EQ(found(events, 24'000).begin, 24'001U);
  EXPECT_EQ(found(events, 21'100).begin, 20'000U);
}

// An interpreter makes some objects while it frees all others.
TEST_F(lifetimes_last_act, has_a_few_acquisitions_in_a_row_if_there_are_many_events) {
  for (const std::uint64_t blocks : {1000U, 100'000U}) {
    std::vector<event> events;
    acquire(events, 0, blocks);
    release(events, 20 * blocks, blocks / 2);
    for (std::uint64_t i = 0; i < 40; ++i)
      events.push_back(got(20 * blocks + blocks / 2, 16 * (blocks + 1 + i)));
    for (std::uint64_t i = blocks / 2; i < blocks; ++i)
      events.push_back(freed(20 * blocks + i, 16 * (i + 1)));
    EXPECT_EQ(found(events).acquisitions == blocks, blocks == 100'000U);
  }
}

TEST_F(lifetimes_last_act, is_not_cut_by_the_pause_of_a_busy_machine) {
  std::vector<event> events;
  acquire(events, 0, 1000);
  release(events, 20'000, 500);
  for (std::uint64_t i = 500; i < 1000; ++i) events.push_back(freed(22'000 + i, 16 * (i + 1)));
  EXPECT_EQ(found(events, 0, 20'000).begin, 22'500U);  // a rest of 75 ms
  EXPECT_EQ(found(events, 0, 40'000).begin, 20'000U);
}

TEST_F(lifetimes_last_act, without_releases_is_a_fiftieth_of_time_and_events) {
  std::vector<event> events;
  acquire(events, 0, 10'000);
  EXPECT_NEAR(static_cast<double>(found(events).begin), 9800.0, 2.0);
  EXPECT_NEAR(static_cast<double>(found(events).acquisitions), 9800.0, 2.0);
  EXPECT_EQ(found(events, 1'000'000).begin, 1'000'001U);  // all of it is long ago
}

TEST_F(lifetimes_last_act, is_at_most_a_fifth_of_the_run) {
  std::vector<event> events;
  acquire(events, 0, 1000);
  for (std::uint64_t i = 0; i < 1000; ++i) events.push_back(freed(1000 + 9 * i, 16 * (i + 1)));
  const last_act act = found(events);
  EXPECT_GE(act.begin, 7990U);
  EXPECT_LE(act.begin, 8010U);
}

}  // namespace
}  // namespace heaplab::trace
