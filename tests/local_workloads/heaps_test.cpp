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

// Their parts are large enough for the fault. What is found without a strategy's help is tested with all
// workloads (tests/workloads).
TEST(heaps, overlap_is_found_in_every_nested_structure) {
  for (const char* structure : {"DS6", "DS7", "DS8", "DS10", "DS11", "DS12"})
    for (const char* strategy : {"AS1", "AS3", "AS7", "AS13"}) {
      const std::string command = std::string("growth --elements 64 --operations 8192 --structure ") +
                                  structure + " --strategy " + strategy;
      const outcome broken = run_with(OVERLAPPING, command);
      EXPECT_EQ(broken.status, 1) << command;
      EXPECT_TRUE(broken.output.starts_with("self-check failed: ")) << command << "\n" << broken.output;
      const outcome sound = run_with(SOUND, command);
      EXPECT_EQ(sound.status, 0) << command << "\n" << sound.output;
    }
}

TEST(heaps, arena_ends_with_every_structure) {
  for (const char* library : {"libmimalloc.so.2.0", "libjemalloc.so.2"}) {
    void* const found = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (found == nullptr) continue;  // not installed
    for (const std::string command :
         {"utilization --total 1MiB --active 64KiB", "contention --allocations 100 --threads 2",
          "growth --structure DS6 --elements 64 --operations 8192"}) {
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
