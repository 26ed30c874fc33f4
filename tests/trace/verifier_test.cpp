#include "trace/file/verifier.h"

#include <gtest/gtest.h>

namespace heaplab::trace {
namespace {

event acquired(std::uint64_t address, std::uint64_t size) {
  return {.address = address, .size = size, .kind = kind::malloc};
}

event released(std::uint64_t address) {
  return {.address = address, .kind = kind::free};
}

TEST(verifier, knows_what_lived_before) {
  verifier order(true);
  order.lived(acquired(16, 100));
  order.lived(acquired(32, 50));
  for (const event& e : {released(16), acquired(16, 1), released(64)}) order.see(e);
  const verdict& counts = order.counts();
  EXPECT_EQ(counts.lived_blocks, 2U);
  EXPECT_EQ(counts.lived_bytes, 150U);
  EXPECT_EQ(counts.acquisitions, 1U);
  EXPECT_EQ(counts.bytes_acquired, 1U);
  EXPECT_EQ(counts.live_bytes, 51U);
  EXPECT_EQ(counts.peak_bytes, 150U);
  EXPECT_EQ(counts.peak_blocks, 2U);
  EXPECT_EQ(counts.acquired_while_live, 0U);
  EXPECT_EQ(counts.released_inherited, 1U);
}

TEST(verifier, counts_what_lives) {
  verifier order(false);
  for (const event& e : {acquired(16, 100), acquired(32, 50), released(16), acquired(16, 1), acquired(0, 7)})
    order.see(e);
  const verdict& counts = order.counts();
  EXPECT_EQ(counts.events, 5U);
  EXPECT_EQ(counts.acquisitions, 3U);
  EXPECT_EQ(counts.releases, 1U);
  EXPECT_EQ(counts.failed, 1U);
  EXPECT_EQ(counts.bytes_acquired, 151U);
  EXPECT_EQ(counts.live_bytes, 51U);
  EXPECT_EQ(counts.live_blocks, 2U);
  EXPECT_EQ(counts.peak_bytes, 150U);
  EXPECT_EQ(counts.peak_blocks, 2U);
  EXPECT_EQ(counts.acquired_while_live + counts.released_unknown, 0U);
}

TEST(verifier, finds_a_block_acquired_while_it_lives) {
  verifier order(false);
  for (const event& e : {acquired(16, 100), acquired(16, 10), released(16)}) order.see(e);
  EXPECT_EQ(order.counts().acquired_while_live, 1U);
  EXPECT_EQ(order.counts().live_bytes, 0U);
}

TEST(verifier, finds_a_release_of_what_does_not_live) {
  verifier order(false);
  for (const event& e : {acquired(16, 100), released(16), released(16)}) order.see(e);
  EXPECT_EQ(order.counts().released_unknown, 1U);
}

TEST(verifier, a_child_of_fork_may_release_its_parents_blocks) {
  verifier order(true);
  order.see(released(16));
  EXPECT_EQ(order.counts().released_unknown, 0U);
  EXPECT_EQ(order.counts().released_inherited, 1U);
}

}  // namespace
}  // namespace heaplab::trace
