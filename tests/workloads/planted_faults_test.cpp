// Every workload finds a heap that breaks its contract, by its self-checks.
#include <gtest/gtest.h>

#include <string>

#include "workloads/programs.h"

namespace heaplab {
namespace {

void expect_found(const testing::outcome& broken, const std::string& says) {
  EXPECT_EQ(broken.status, 1) << broken.output;
  EXPECT_TRUE(broken.output.starts_with("self-check failed: ")) << broken.output;
  EXPECT_TRUE(broken.output.find(says) != std::string::npos) << broken.output;
}

class planted_faults_test : public ::testing::TestWithParam<program> {
protected:
  static testing::outcome run_with(const char* library, const char* arguments) {
    return run_program(GetParam().name, arguments, std::string("LD_PRELOAD=") + library);
  }
};

// What the others find is the fault: the heap they are planted in passes.
TEST_P(planted_faults_test, none_in_a_sound_heap) {
  for (const char* arguments : {GetParam().large, GetParam().unaligned}) {
    const testing::outcome sound = run_with(SOUND, arguments);
    EXPECT_EQ(sound.status, 0) << sound.output;
  }
}

TEST_P(planted_faults_test, blocks_that_overlap) {
  expect_found(run_with(OVERLAPPING, GetParam().large), GetParam().overlap);
}

TEST_P(planted_faults_test, blocks_off_their_alignment) {
  expect_found(run_with(MISALIGNED, GetParam().unaligned), "aligned");
}

TEST(planted_faults, contents_lost_by_realloc) {
  for (const auto& [name, arguments] : {std::pair{"growing_buffers", "--steps 2000 --buffers 20"},
                                        std::pair{"exchange", "--replacements 20000 --grown 50"},
                                        std::pair{"lru_cache", "--requests 20000 --replaced 0 --grown 50"}})
    expect_found(run_program(name, arguments, std::string("LD_PRELOAD=") + FORGETFUL),
                 "lost its contents when it was reallocated");
}

void expect_found_by_speed(const char* library, const char* chain, const std::string& says) {
  expect_found(run_program("speed", std::string("--chain-repeats 500 --chain ") + chain,
                           std::string("LD_PRELOAD=") + library),
               says);
}

TEST(planted_faults, of_chains) {
  expect_found_by_speed(FORGETFUL, "malloc-realloc-free", "lost its contents when it was reallocated");
  expect_found_by_speed(FORGETFUL, "realloc", "lost its contents when it was reallocated");
  expect_found_by_speed(UNCLEAN, "calloc-free", "does not hold what was written into it");
  expect_found_by_speed(OVERLAPPING, "malloc --min-size 1000 --max-size 1100",
                        "does not hold what was written into it");
  expect_found_by_speed(MISALIGNED, "malloc-free --no-touch", "is not aligned");
}

INSTANTIATE_TEST_SUITE_P(all, planted_faults_test, ::testing::ValuesIn(programs),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace heaplab
