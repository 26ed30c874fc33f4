#include "trace/file/event_columns.h"

#include <gtest/gtest.h>

#include "trace/random_events.h"

namespace heaplab::trace {
namespace {

TEST(event_columns, give_back_what_was_put_in) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::vector<event> events = random_events(seed * 97, seed, 100);
    std::vector<event> back;
    ASSERT_TRUE(decode_events(encode_events(events), static_cast<std::uint32_t>(events.size()),
                              events.front().stamp, back));
    EXPECT_EQ(back, events);
  }
}

TEST(event_columns, hold_none) {
  std::vector<event> back(3);
  EXPECT_TRUE(decode_events(encode_events({}), 0, 0, back));
  EXPECT_TRUE(back.empty());
}

TEST(event_columns, extreme_numbers_survive) {
  const std::vector<event> events = {
      {.stamp = ~0ULL, .address = ~0ULL, .size = ~0ULL, .thread = ~0U, .site = ~0U, .kind = kind::malloc},
      {.stamp = ~0ULL, .address = 0, .thread = 1, .kind = kind::free}};
  std::vector<event> back;
  ASSERT_TRUE(decode_events(encode_events(events), 2, ~0ULL, back));
  EXPECT_EQ(back, events);
}

TEST(event_columns, a_count_other_than_that_of_the_columns_is_refused) {
  const std::vector<event> events = random_events(50, 7);
  const bytes payload = encode_events(events);
  std::vector<event> back;
  for (const std::uint32_t count : {0U, 49U, 51U, 4'000'000'000U})
    EXPECT_FALSE(decode_events(payload, count, events.front().stamp, back)) << count;
}

TEST(event_columns, cut_off_or_with_more_behind_is_refused) {
  const std::vector<event> events = random_events(50, 8);
  bytes payload = encode_events(events);
  std::vector<event> back;
  for (std::size_t kept = 0; kept < payload.size(); ++kept)
    EXPECT_FALSE(decode_events(std::span(payload).first(kept), 50, events.front().stamp, back)) << kept;
  payload.push_back(0);
  EXPECT_FALSE(decode_events(payload, 50, events.front().stamp, back));
}

TEST(event_columns, noise_is_survived) {
  std::mt19937_64 random(9);
  std::vector<event> back;
  for (int attempt = 0; attempt < 20'000; ++attempt) {
    bytes noise(random() % 200);
    for (std::uint8_t& byte : noise) byte = static_cast<std::uint8_t>(random() >> (random() % 8));
    decode_events(noise, static_cast<std::uint32_t>(random() % 64), 0, back);
  }
}

}  // namespace
}  // namespace heaplab::trace
