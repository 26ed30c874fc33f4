#include "trace/profile/profile.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace heaplab::trace {
namespace {

constexpr std::uint64_t microsecond = 1000;  // ticks
constexpr std::uint64_t rate = 1'000'000'000;

event acquired(std::uint64_t stamp, std::uint64_t address, std::uint64_t size, std::uint32_t site = 1,
               std::uint32_t thread = 1, kind what = kind::malloc) {
  return {.stamp = stamp, .address = address, .size = size, .thread = thread, .site = site, .kind = what};
}

event released(std::uint64_t stamp, std::uint64_t address, std::uint32_t thread = 1, kind what = kind::free) {
  return {.stamp = stamp, .address = address, .thread = thread, .kind = what};
}

profile profile_of(std::initializer_list<event> events) {
  profile found(rate);
  for (const event& e : events) found.see(e);
  found.end();
  return found;
}

std::uint64_t key(std::uint64_t acquirer, std::uint32_t releaser) {
  return acquirer << 32 | releaser;
}

TEST(profile, counts_a_site_at_the_process_peak_and_at_its_own) {
  // Site 1 has most (100) before the peak of all, at which it has 40 and site 2 has 90.
  const profile found =
      profile_of({acquired(0, 16, 60, 1), acquired(1, 32, 40, 1), released(2, 16), acquired(3, 48, 90, 2),
                  released(4, 48), acquired(5, 64, 10, 2), acquired(6, 80, 5, 1)});
  EXPECT_EQ(found.peak().bytes, 130U);
  EXPECT_EQ(found.peak().blocks, 2U);
  EXPECT_EQ(found.peak_stamp(), 3U);
  const site_profile& first = found.sites()[1];
  EXPECT_EQ(first.acquired.bytes, 105U);
  EXPECT_EQ(first.most.bytes, 100U);
  EXPECT_EQ(first.most.blocks, 2U);
  EXPECT_EQ(first.at_peak.bytes, 40U);
  EXPECT_EQ(first.live.bytes, 45U);
  EXPECT_EQ(found.sites()[2].at_peak.bytes, 90U);
  EXPECT_EQ(found.sites()[2].live.bytes, 10U);
}

TEST(profile, blocks_that_lived_before_are_live_and_not_acquired_in_any_stretch) {
  profile found(rate);
  found.lived(acquired(5, 16, 60, 1, 0));
  found.lived(acquired(5, 32, 40, 1, 0));
  for (const event& e : {acquired(5, 48, 10, 2), released(6, 16)}) found.see(e);
  found.end();
  EXPECT_EQ(found.peak().bytes, 110U);
  EXPECT_EQ(found.sites()[1].at_peak.bytes, 100U);
  EXPECT_EQ(found.sites()[1].live.bytes, 40U);
  EXPECT_EQ(found.threads().at(key(0, 1)).bytes, 60U);
  EXPECT_EQ(found.sites()[1].remote, 0U);
  const stretch& first = found.series().stretches()[0];
  EXPECT_EQ(first.bytes_acquired, 10U);
  EXPECT_EQ(first.peak_bytes, 110U);
}

TEST(profile, tells_what_each_thread_acquired_at_a_site_whoever_releases_it) {
  const profile found =
      profile_of({acquired(0, 16, 60, 1, 1), acquired(1, 32, 40, 1, 2), released(2, 16, 2),
                  acquired(3, 16, 50, 1, 1), acquired(4, 48, 20, 1, 1), acquired(5, 64, 7, 2, 2)});
  const thread_share& first = found.by_thread_and_site().at(key(1, 1));
  EXPECT_EQ(first.acquired.bytes, 130U);
  EXPECT_EQ(first.acquired.blocks, 3U);
  EXPECT_EQ(first.most_bytes, 70U);
  EXPECT_EQ(found.by_thread_and_site().at(key(2, 1)).most_bytes, 40U);
  EXPECT_EQ(found.by_thread_and_site().at(key(2, 2)).acquired.bytes, 7U);
  EXPECT_EQ(found.by_thread_and_site().size(), 3U);
}

TEST(profile, tells_what_each_thread_had_at_a_time_at_all_sites) {
  const profile found =
      profile_of({acquired(0, 16, 60, 1, 1), acquired(1, 32, 40, 2, 2), released(2, 16, 2),
                  acquired(3, 16, 50, 2, 1), acquired(4, 48, 20, 1, 1), acquired(5, 64, 7, 3, 2)});
  EXPECT_EQ(found.by_thread().at(1).most_bytes, 70U);
  EXPECT_EQ(found.by_thread().at(2).most_bytes, 47U);
  EXPECT_EQ(found.by_thread().size(), 2U);
}

TEST(profile, puts_blocks_in_classes_of_size_and_lifetime) {
  const profile found =
      profile_of({acquired(0, 16, 64), released(microsecond - 1, 16), acquired(microsecond, 16, 65),
                  released(2 * microsecond, 16), acquired(2 * microsecond, 32, 1)});
  EXPECT_EQ(found.by_life()[6][0].blocks, 1U);  // up to 64 B, below a microsecond
  EXPECT_EQ(found.by_life()[7][1].blocks, 1U);
  EXPECT_EQ(found.by_life()[0][profile::lifetime_classes - 1].bytes, 1U);
  EXPECT_EQ(found.sites()[1].lifetimes, microsecond - 1 + microsecond + 0);
}

TEST(profile, tells_who_releases_whose_blocks) {
  const profile found = profile_of({acquired(0, 16, 5), acquired(1, 32, 7, 1, 2), acquired(2, 48, 9),
                                    released(3, 16, 2), released(4, 32, 2)});
  EXPECT_EQ(found.threads().at(key(1, 2)).bytes, 5U);
  EXPECT_EQ(found.threads().at(key(2, 2)).bytes, 7U);
  EXPECT_EQ(found.threads().at(key(1, 0)).bytes, 9U);
  EXPECT_EQ(found.threads().size(), 3U);
  EXPECT_EQ(found.sites()[1].remote, 1U);
}

TEST(profile, follows_reallocations_of_each_thread) {
  const profile found =
      profile_of({acquired(0, 16, 10), acquired(0, 512, 10, 1, 2), released(1, 16, 1, kind::realloc_from),
                  released(1, 512, 2, kind::realloc_from), acquired(2, 256, 20, 3, 1, kind::realloc_to),
                  acquired(3, 512, 5, 3, 2, kind::realloc_to), released(4, 256, 1, kind::realloc_from),
                  acquired(5, 256, 90, 3, 1, kind::realloc_to)});
  EXPECT_EQ(found.growths().calls, 3U);
  EXPECT_EQ(found.growths().moved, 1U);
  EXPECT_EQ(found.growths().bytes_moved, 10U);
  EXPECT_EQ(found.growths().shrank, 1U);
  EXPECT_EQ(found.growths().chains[0], 0U);
  EXPECT_EQ(found.growths().chains[1], 1U);  // thread 2's block, once
  EXPECT_EQ(found.growths().chains[2], 1U);  // thread 1's block, twice
  EXPECT_EQ(found.sites()[3].growths, 3U);
}

TEST(profile, a_reallocation_to_size_0_is_no_beginning_of_another) {
  const profile found = profile_of({acquired(0, 16, 10), released(1, 16, 1, kind::realloc_from),
                                    acquired(2, 32, 1), acquired(3, 48, 10, 1, 1, kind::realloc_to)});
  EXPECT_EQ(found.growths().calls, 0U);
  EXPECT_EQ(found.growths().chains[0], 3U);
}

TEST(profile, a_block_acquired_anew_was_released_unseen) {
  const profile found = profile_of({acquired(0, 16, 10), acquired(1, 16, 4), released(2, 8)});
  EXPECT_EQ(found.sites()[1].live.bytes, 4U);
  EXPECT_EQ(found.by_life()[4][0].blocks, 1U);
  EXPECT_EQ(found.peak().bytes, 10U);
}

TEST(profile, time_series_keeps_sums_and_peaks_while_stretches_become_one) {
  std::mt19937_64 random(7);
  time_series series;
  std::uint64_t stamp = 5;
  std::uint64_t highest = 0;
  for (int step = 0; step < 100'000; ++step) {
    stretch& now = series.at(stamp += random() % (step % 1000 == 0 ? 100'000 : 10));
    now.peak_bytes = std::max(now.peak_bytes, random() % 1'000'000);
    highest = std::max(highest, now.peak_bytes);
    now.live_bytes = 17;
    ++now.acquisitions;
  }
  std::uint64_t acquisitions = 0;
  std::uint64_t peak = 0;
  for (const stretch& s : series.stretches()) {
    acquisitions += s.acquisitions;
    peak = std::max(peak, s.peak_bytes);
    EXPECT_EQ(s.live_bytes, 17U);
  }
  EXPECT_EQ(acquisitions, 100'000U);
  EXPECT_EQ(peak, highest);
  EXPECT_LE(series.stretches().size(), time_series::most);
  EXPECT_GT(series.stretches().size(), time_series::most / 2);
  EXPECT_LE(series.origin(), stamp - series.width() * (series.stretches().size() - 1));
}

TEST(profile, time_series_a_stretch_without_events_has_what_lived_before) {
  time_series series;
  series.at(0).live_bytes = 3;
  series.at(0).peak_bytes = 9;
  series.at(4);
  ASSERT_EQ(series.stretches().size(), 5U);
  EXPECT_EQ(series.stretches()[2].live_bytes, 3U);
  EXPECT_EQ(series.stretches()[2].peak_bytes, 3U);
}

TEST(profile, live_blocks_agree_with_a_map) {
  std::mt19937_64 random(3);
  live_blocks blocks;
  std::map<std::uint64_t, std::uint64_t> model;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t address = 16 * (1 + random() % 500);
    if (random() % 2 == 0) {
      const auto before = blocks.put({.address = address, .size = random() % 100});
      EXPECT_EQ(before.has_value(), model.contains(address));
      model[address] = blocks.size();
    } else {
      EXPECT_EQ(blocks.take(address).has_value(), model.erase(address) == 1);
    }
    ASSERT_EQ(blocks.size(), model.size());
  }
  std::size_t visited = 0;
  blocks.each([&](const live_block& block) { visited += model.count(block.address); });
  EXPECT_EQ(visited, model.size());
}

}  // namespace
}  // namespace heaplab::trace
