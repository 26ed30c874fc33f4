// The benchmarks on other heaps than the C library's.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "local_workloads/run.h"

namespace heaplab::strategies {
namespace {

using testing::outcome;

outcome run_with(const std::string& library, const std::string& command) {
  return run(command, "LD_PRELOAD=" + library);
}

constexpr const char* in_utilization = "utilization --total 1MiB --active 64KiB";
constexpr const char* in_contention = "contention --size 1000 --allocations 100 --threads 2";
constexpr const char* in_growth = "growth --structure DS6 --elements 64 --operations 8192";
// Its nodes are small, and its chunks are not.
constexpr const char* in_locality = "locality --elements-total 65536 --subsystems 128 --shuffle-factor 0";

void expect_found(const char* library, const std::string& command, const std::string& says) {
  const outcome broken = run_with(library, command);
  EXPECT_EQ(broken.status, 1) << command << "\n" << broken.output;
  EXPECT_TRUE(broken.output.starts_with("self-check failed: ")) << command << "\n" << broken.output;
  EXPECT_TRUE(broken.output.find(says) != std::string::npos) << command << "\n" << broken.output;
}

// What the others find is the fault: the heap they are planted in passes.
TEST(LocalPlantedFaults, NoneInASoundHeap) {
  for (const std::string command : {in_utilization, in_contention, in_growth, in_locality})
    for (const char* strategy : {"AS1", "AS2", "AS3", "AS7", "AS13"}) {
      const outcome sound = run_with(SOUND, command + " --strategy " + strategy);
      EXPECT_EQ(sound.status, 0) << sound.output;
    }
}

TEST(LocalPlantedFaults, BlocksThatOverlap) {
  expect_found(OVERLAPPING, in_utilization, "does not hold what was written into it");
  expect_found(OVERLAPPING, in_contention, "does not hold what was written into it");
  expect_found(OVERLAPPING, std::string(in_locality) + " --strategy AS7", "list");
}

TEST(LocalPlantedFaults, BlocksOffTheirAlignment) {
  expect_found(MISALIGNED, in_utilization, "is not aligned");
  expect_found(MISALIGNED, in_contention, "is not aligned");
  expect_found(MISALIGNED, in_growth, "a structure holds what was put into it");
  expect_found(MISALIGNED, in_locality, "nodes are aligned");
}

TEST(HeapArena, EndsWithEveryStructure) {
  for (const char* library : {"libmimalloc.so.2.0", "libjemalloc.so.2"}) {
    void* const found = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (found == nullptr) continue;  // not installed
    for (const std::string command : {in_utilization, in_contention, in_growth}) {
      const outcome done = run_with(library, command + " --strategy heap-arena");
      EXPECT_EQ(done.status, 0) << library << "\n" << done.output;
    }
    const outcome lists =
        run_with(library, "locality --elements-total 6400 --subsystems 64 --strategy heap-arena");
    EXPECT_EQ(lists.status, 0) << library << "\n" << lists.output;
  }
}

}  // namespace
}  // namespace heaplab::strategies
