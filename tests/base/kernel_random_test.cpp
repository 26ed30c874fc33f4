#include "base/kernel_random.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "support/command.h"

namespace heaplab {
namespace {

TEST(kernel_random, stays_the_same_in_a_process) {
  EXPECT_EQ(kernel_random(), kernel_random());
  EXPECT_NE(kernel_random()[0], kernel_random()[1]);
  for (const std::uint64_t word : kernel_random())
    std::printf("random: %016llx\n", static_cast<unsigned long long>(word));
}

TEST(kernel_random, differs_from_process_to_process) {
  char self[4096] = {};
  ASSERT_GT(::readlink("/proc/self/exe", self, sizeof self - 1), 0);
  const std::string command = std::string(self) + " --gtest_filter='*stays_the_same*' | grep random:";
  const auto first = testing::run_command(command), second = testing::run_command(command);
  EXPECT_EQ(first.status, 0);
  EXPECT_NE(first.output, second.output);
}

}  // namespace
}  // namespace heaplab
