// The table of span_state.h: every state with every event, and the word under each.
#include "allocators/scalloc/spans/span_state.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace heaplab::scalloc {
namespace {

using enum span_state;
using enum span_event;

constexpr span_state states[] = {expected, span_state::free, hot, floating, reusable};
constexpr span_event events[] = {take, push, refill, retire, mostly_free, all_free, reuse};
static_assert(std::size(states) == span_state_count && std::size(events) == span_event_count);

// Written out once more, by hand: the paper's figure 3.
const std::map<std::pair<span_state, span_event>, span_state> life = {
    {{expected, take}, hot},
    {{span_state::free, take}, hot},
    {{hot, push}, hot},
    {{hot, refill}, hot},
    {{hot, retire}, floating},
    {{floating, push}, floating},
    {{floating, mostly_free}, reusable},
    {{floating, all_free}, span_state::free},
    {{reusable, push}, reusable},
    {{reusable, all_free}, span_state::free},
    {{reusable, reuse}, hot},
};

// A word in `state`, with two remote blocks where a span can have some.
span_word word_in(span_state state) {
  span_word word = span_word{}.take();
  if (state == expected) return {};
  if (state == hot) return word.push(32).push(64);
  word = word.push(32).push(64).retire();
  if (state == reusable) return word.mostly_free();
  if (state == span_state::free) return word.all_free();
  return word;
}

span_word perform(span_word word, span_event event) {
  switch (event) {
    case take:
      return word.take();
    case push:
      return word.push(96);
    case refill:
      return word.refill();
    case retire:
      return word.retire();
    case mostly_free:
      return word.mostly_free();
    case all_free:
      return word.all_free();
    case reuse:
      return word.reuse();
  }
  return word;
}

TEST(span_state, has_a_row_for_every_legal_event_and_no_other) {
  EXPECT_EQ(std::size(span_transitions), life.size());
  for (const span_state from : states)
    for (const span_event event : events) {
      const auto row = life.find({from, event});
      const auto next = next_state(from, event);
      ASSERT_EQ(next.has_value(), row != life.end()) << int(from) << ' ' << int(event);
      if (next) {
        EXPECT_EQ(*next, row->second) << int(from) << ' ' << int(event);
      }
      EXPECT_EQ(word_in(from).allows(event), next.has_value());
    }
}

TEST(span_state, moves_the_word_along_every_row) {
  for (const span_transition& row : span_transitions) {
    const span_word before = word_in(row.from);
    ASSERT_EQ(before.state(), row.from);
    const span_word after = perform(before, row.event);
    EXPECT_EQ(after.state(), row.to) << int(row.from) << ' ' << int(row.event);
    if (row.event == push) {
      EXPECT_EQ(after.epoch(), before.epoch());
      EXPECT_EQ(after.remote_count(), before.remote_count() + 1);
      EXPECT_EQ(after.remote_newest(), 96U);
      continue;
    }
    EXPECT_EQ(after.epoch(), before.epoch() + 1);
    const bool drops_remote = row.event == take || row.event == refill;
    EXPECT_EQ(after.remote_count(), drops_remote ? 0U : before.remote_count());
    if (!drops_remote) {
      EXPECT_EQ(after.remote_newest(), before.remote_newest());
    }
  }
}

TEST(span_state, keeps_the_fields_of_the_largest_span_apart) {
  constexpr std::uint32_t span_bytes = 2 << 20, blocks = span_bytes / 16;
  span_word word = span_word{}.take();
  for (std::uint32_t block = 0; block < blocks - 1; ++block) word = word.push(span_bytes - 16 - 16 * block);
  EXPECT_EQ(word.remote_count(), blocks - 1);
  EXPECT_EQ(word.remote_newest(), 16U);
  EXPECT_EQ(word.state(), hot);
  EXPECT_EQ(word.epoch(), 1U);
  EXPECT_EQ(word.push(span_bytes - 16).remote_newest(), span_bytes - 16);
}

TEST(span_state, wraps_the_epoch_without_touching_the_rest) {
  span_word word{~std::uint64_t{0} << 37};
  EXPECT_EQ(word.state(), expected);
  word = word.take();
  EXPECT_EQ(word.epoch(), 0U);
  EXPECT_EQ(word.state(), hot);
  EXPECT_EQ(word.remote_count(), 0U);
}

// Every state and every number of live blocks of a span of ten.
TEST(span_state, decides_what_is_due) {
  constexpr span_limits eager{.reuse_live = 1, .refill_count = 1, .eager_return = true};
  constexpr span_limits lazy{.reuse_live = 1, .refill_count = 1, .eager_return = false};
  constexpr span_limits no_reuse{.reuse_live = -1, .refill_count = 1, .eager_return = true};
  for (const span_state state : states)
    for (int live = 0; live <= 10; ++live) {
      const auto due = due_event(state, live, eager), due_lazily = due_event(state, live, lazy),
                 due_without_reuse = due_event(state, live, no_reuse);
      if (state == floating || state == reusable) {
        EXPECT_EQ(due == all_free, live == 0);
        EXPECT_EQ(due_without_reuse == all_free, live == 0);
        EXPECT_NE(due_lazily, all_free);
      }
      EXPECT_EQ(due == mostly_free, state == floating && live == 1);
      EXPECT_EQ(due_lazily == mostly_free, state == floating && live <= 1);
      EXPECT_NE(due_without_reuse, mostly_free);
      for (const auto& event : {due, due_lazily, due_without_reuse})
        EXPECT_TRUE(!event || next_state(state, *event).has_value());
    }
}

}  // namespace
}  // namespace heaplab::scalloc
