#include "trace/profile/subsystems.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaplab::trace {
namespace {

constexpr std::uint32_t parser = 1;
constexpr std::uint32_t strings = 2;
constexpr std::uint32_t other = 3;

// Events of one process, and what two passes over them tell of the groups {parser, strings} and {strings}.
class events {
public:
  void born(std::uint64_t address, std::uint64_t size, std::uint32_t site = parser,
            std::uint32_t thread = 1) {
    add({.address = address, .size = size, .thread = thread, .site = site, .kind = kind::malloc});
  }
  void died(std::uint64_t address, std::uint32_t thread = 1) {
    add({.address = address, .thread = thread, .kind = kind::free});
  }
  void grew(std::uint64_t from, std::uint64_t to, std::uint64_t size) {
    add({.address = from, .thread = 1, .site = parser, .kind = kind::realloc_from});
    add({.address = to, .size = size, .thread = 1, .site = parser, .kind = kind::realloc_to});
  }
  // Three blocks of 100 bytes that live at the same time and die together.
  void document(std::uint64_t address) {
    for (std::uint64_t at = address; at < address + 3; ++at) born(at, 100);
    for (std::uint64_t at = address; at < address + 3; ++at) died(at);
  }

  std::vector<subsystem> found() const {
    subsystems all({{parser, strings}, {strings}});
    for (int pass = 0; pass < 2; ++pass) {
      for (const event& e : all_) all.see(e);
      all.end_pass();
    }
    return all.found();
  }

private:
  void add(event e) {
    e.stamp = 10 * (all_.size() + 1);
    all_.push_back(e);
  }
  std::vector<event> all_;
};

TEST(subsystems, an_episode_ends_where_nothing_lives_any_more) {
  events of;
  of.document(10);
  of.born(99, 1000, other);
  of.document(20);
  const subsystem found = of.found()[0];
  EXPECT_EQ(found.episodes, 2U);
  EXPECT_EQ(found.episode_bytes, 600U);
  EXPECT_EQ(found.episode_most, 600U);
  EXPECT_EQ(found.ticks, 100U);
  EXPECT_EQ(found.turns, 2U);
  EXPECT_EQ(found.open_bytes, 0U);
  EXPECT_TRUE(found.stayed.empty());
  EXPECT_EQ(found.totals[9], 600U);  // 300 bytes each
}

TEST(subsystems, what_lives_on_when_the_next_episode_begins_has_survived) {
  events of;
  of.document(10);
  of.born(50, 8, strings);
  of.born(51, 1, strings);
  of.document(20);
  of.document(30);
  of.died(51);
  const std::vector<subsystem> found = of.found();
  EXPECT_EQ(found[0].episodes, 3U);
  ASSERT_TRUE(found[0].stayed.contains(strings));
  EXPECT_EQ(found[0].stayed.at(strings).bytes, 9U);
  EXPECT_FALSE(found[0].stayed.contains(parser));
  EXPECT_EQ(found[1].open_bytes, 9U);
}

TEST(subsystems, a_small_block_before_a_temporary_belongs_to_the_episode) {
  events of;
  of.born(50, 1);
  of.born(51, 40);
  of.died(51);
  for (std::uint64_t at = 10; at < 20; ++at) of.born(at, 100);
  for (std::uint64_t at = 10; at < 20; ++at) of.died(at);
  of.died(50);
  const subsystem found = of.found()[0];
  EXPECT_EQ(found.episodes, 1U);
  EXPECT_TRUE(found.stayed.empty());
}

TEST(subsystems, threads_have_episodes_of_their_own_and_remote_frees_are_counted) {
  events of;
  of.born(1, 100, parser, 1);
  of.born(2, 100, parser, 2);
  of.died(1, 1);
  of.died(2, 1);
  const subsystem found = of.found()[0];
  EXPECT_EQ(found.episodes, 2U);
  EXPECT_EQ(found.threads.size(), 2U);
  EXPECT_EQ(found.most_bytes, 200U);
  EXPECT_EQ(found.remote, 1U);
}

TEST(subsystems, growth_by_reallocation_is_told_apart_and_so_are_large_blocks) {
  events of;
  of.born(1, 5000);
  of.grew(1, 2, 10000);
  of.died(2);
  const subsystem found = of.found()[0];
  EXPECT_EQ(found.growths, 1U);
  EXPECT_EQ(found.above_large.bytes, 15000U);
}

}  // namespace
}  // namespace heaplab::trace
