#include "recorded/edited_events.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace heaplab {
namespace {

using recorded::edited_events;
using recorded::edits;
using trace::block_habits;
using trace::event;
using trace::kind;

event acquired(std::uint64_t address, std::uint64_t size, std::uint32_t site = 1, kind what = kind::malloc) {
  return {.address = address, .size = size, .thread = 1, .site = site, .kind = what};
}
event released(std::uint64_t address, kind what = kind::free) {
  return {.address = address, .thread = 1, .kind = what};
}
std::vector<event> grown(std::uint64_t from, std::uint64_t to, std::uint64_t size) {
  return {released(from, kind::realloc_from), acquired(to, size, 1, kind::realloc_to)};
}

struct edited_outcome {
  std::vector<std::uint64_t> sizes;  // of plain acquisitions, in order
  std::size_t growths = 0;
  std::size_t unknown = 0;             // releases of what does not live
  std::size_t doubled = 0;             // acquisitions of what lives
  std::map<std::uint64_t, bool> live;  // at the end
};

edited_outcome outcome_of(const edits& wanted, const std::vector<event>& events) {
  block_habits habits;
  for (const event& e : events) habits.see(e);
  edited_events edited(wanted, habits);
  edited_outcome found;
  for (const event& e : events)
    for (const event& changed : edited.changed(e)) {
      if (trace::is_release(changed.kind)) {
        found.unknown += found.live.erase(changed.address) == 0 ? 1 : 0;
      } else if (changed.address != 0) {
        found.doubled += found.live.insert({changed.address, true}).second ? 0 : 1;
        trace::is_growth(changed.kind) ? void(++found.growths) : found.sizes.push_back(changed.size);
      }
    }
  EXPECT_EQ(found.unknown, 0U);
  EXPECT_EQ(found.doubled, 0U);
  return found;
}

std::vector<event> joined(std::initializer_list<std::vector<event>> parts) {
  std::vector<event> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(edited_events, a_reserved_block_has_its_final_size_and_grows_no_more) {
  // Another block takes the address that the growing one has left, and outlives it.
  const std::vector<event> events = joined({{acquired(16, 10)},
                                            grown(16, 64, 100),
                                            {acquired(16, 7, 2)},
                                            grown(64, 96, 300),
                                            {released(96), released(16)}});
  const edited_outcome found = outcome_of({.reserve = {1}}, events);
  EXPECT_EQ(found.sizes, (std::vector<std::uint64_t>{300, 7}));
  EXPECT_EQ(found.growths, 0U);
  EXPECT_TRUE(found.live.empty());
  EXPECT_EQ(outcome_of({.reserve = {2}}, events).growths, 2U);
}

TEST(edited_events, a_reserved_block_is_not_copied) {
  const std::vector<event> events = {acquired(16, 10), acquired(32, 20),   released(16), acquired(48, 40),
                                     released(32),     acquired(16, 7, 2), released(48)};
  const edited_outcome found = outcome_of({.reserve = {1}}, events);
  EXPECT_EQ(found.sizes, (std::vector<std::uint64_t>{40, 7}));
  EXPECT_EQ(found.live.size(), 1U);
}

TEST(edited_events, a_reserved_block_that_realloc_releases_or_cannot_grow_is_released_once) {
  const std::vector<event> freed =
      joined({{acquired(16, 10)},
              grown(16, 64, 100),
              {released(64, kind::realloc_from), acquired(80, 1, 2), released(80)}});
  EXPECT_TRUE(outcome_of({.reserve = {1}}, freed).live.empty());
  const std::vector<event> failed =
      joined({{acquired(16, 10)}, grown(16, 64, 100), grown(64, 0, 1000), {released(64)}});
  const edited_outcome found = outcome_of({.reserve = {1}}, failed);
  EXPECT_TRUE(found.live.empty());
  EXPECT_EQ(found.sizes, (std::vector<std::uint64_t>{100}));
}

TEST(edited_events, blocks_that_die_at_once_are_left_out_and_no_others) {
  const std::vector<event> events = {acquired(16, 1),    released(16), acquired(16, 2),
                                     acquired(32, 3, 2), released(32), acquired(48, 4)};
  const edited_outcome found = outcome_of({.stack = {1}}, events);
  EXPECT_EQ(found.sizes, (std::vector<std::uint64_t>{2, 3, 4}));
}

TEST(edited_events, leaves_out_a_share_evenly_with_what_becomes_of_these_blocks) {
  std::vector<event> events;
  for (std::uint64_t i = 1; i <= 100; ++i) events.push_back(acquired(1000 * i, i, 1));
  for (std::uint64_t i = 1; i <= 100; ++i)
    for (const event& e : grown(1000 * i, 1000 * i + 16, 500)) events.push_back(e);
  for (std::uint64_t i = 1; i <= 100; ++i) events.push_back(released(1000 * i + 16));
  const edited_outcome found = outcome_of({.less = {{1, 0.25}}}, events);
  EXPECT_EQ(found.sizes.size(), 75U);
  EXPECT_TRUE(found.live.empty());
  EXPECT_EQ(outcome_of({.less = {{1, 1}}}, events).sizes.size(), 0U);
}

}  // namespace
}  // namespace heaplab
