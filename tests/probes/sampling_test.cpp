#include "probes/sampling.h"

#include <gtest/gtest.h>

#include <array>

namespace heaplab::probes {
namespace {

TEST(sampling, chooses_one_in_sixty_four) {
  sampling chosen(7);
  constexpr int events = 1'000'000;
  int samples = 0;
  for (int i = 0; i < events; ++i) samples += chosen.next() ? 1 : 0;
  EXPECT_NEAR(samples, events / 64.0, events / 64.0 * 0.05);
}

// With a fixed gap, a program that refills something every 64 calls would be seen in one phase only.
TEST(sampling, meets_every_phase_of_a_period) {
  sampling chosen(1);
  std::array<int, 64> by_phase{};
  for (unsigned i = 0; i < 1'000'000; ++i)
    if (chosen.next()) ++by_phase[i % 64];
  for (const int samples : by_phase) EXPECT_NEAR(samples, 1e6 / 64 / 64, 110);
}

}  // namespace
}  // namespace heaplab::probes
