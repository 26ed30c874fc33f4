// The programs under test, each with arguments that make a short run.
#pragma once

#include <ostream>
#include <string>

#include "support/command.h"

namespace heaplab {

struct program {
  const char* name;
  const char* brief;              // a run of some milliseconds
  const char* large;              // a run of some milliseconds with objects of 1000 bytes or more
  const char* unaligned = large;  // the same for a heap that aligns badly
  const char* overlap = "does not hold what was written into it";  // what it says of blocks that overlap
  bool times_calls = true;                                         // whether it knows --latency
};

inline void PrintTo(const program& shown, std::ostream* out) {
  *out << shown.name;
}

inline constexpr program programs[] = {
    {"threadtest", "--threads 2 --rounds 3 --round-objects 2000",
     "--threads 1 --rounds 2 --round-objects 100 --size 1000"},
    {"shbench", "--threads 2 --calls 40 --min-size 1 --size-limit 100",
     "--calls 20 --min-size 1000 --size-limit 1100"},
    {"larson", "--threads 2 --duration 50ms --live-objects 100 --replacements-per-object 10",
     "--duration 50ms --live-objects 100 --replacements-per-object 10 --min-size 1000 --size-limit 1100"},
    {"active_false", "--threads 2 --iterations 10 --repetitions 200",
     "--threads 2 --iterations 20 --repetitions 20 --size 1000"},
    {"passive_false", "--threads 2 --iterations 10 --repetitions 200",
     "--threads 2 --iterations 20 --repetitions 20 --size 1000"},
    {"cache_thrash", "--threads 2 --iterations 10 --cache-rw 200",
     "--threads 2 --iterations 20 --cache-rw 20 --size 1000"},
    {"cache_scratch", "--threads 2 --iterations 10 --cache-rw 200",
     "--threads 2 --iterations 20 --cache-rw 20 --size 1000"},
    {"malloc_test", "--threads 2 --call-pairs 1000", "--call-pairs 100 --size 1000"},
    {"producer_consumer", "--pairs 2 --objects 5000 --batch 64 --queue 3",
     "--objects 1000 --batch 50 --min-size 1000 --max-size 1100"},
    {"asymmetric", "--producers 2 --consumers 3 --total-objects 10000 --batch 64",
     "--total-objects 1000 --batch 50 --min-size 1000 --max-size 1100"},
    {"growing_buffers", "--threads 2 --steps 5000 --buffers 20 --max-size 8KiB",
     "--steps 2000 --buffers 20 --min-size 1000 --max-size 64KiB --small 0"},
    {"large_cycle", "--threads 2 --objects 8 --min-size 1MiB --max-size 2MiB",
     "--objects 40 --min-size 64KiB --max-size 80KiB"},
    {"random_age", "--threads 2 --live-objects 500 --replacements 2000",
     "--live-objects 100 --replacements 500 --min-size 1000 --max-size 1100"},
    {"thread_churn", "--threads 2 --lives 10 --objects 100",
     "--lives 4 --objects 100 --min-size 1000 --max-size 1100"},
    {"exchange", "--threads 2 --live-objects 100 --replacements 1000 --lives 2 --inherited 50 --grown 30",
     "--live-objects 100 --replacements 500 --min-size 1000 --max-size 1100 --step 10"},
    {"sentinel", "--threads 2 --live-objects 100 --replacements 2000 --death together --passed-on 30",
     "--live-objects 100 --replacements 500 --min-size 1000 --max-size 1100 --step 10"},
    {"lru_cache", "--threads 2 --requests 2000 --lives 2 --keys 500 --cache-bytes 2MiB --grown 30",
     "--requests 500 --keys 200 --min-size 1000 --max-size 1100 --cache-bytes 1MiB --shards 4"},
    {"trees", "--threads 2 --depth 8 --rounds 4 --kept-depth 8",
     "--depth 6 --rounds 4 --kept-depth 6 --size 1000"},
    {"churn", "--threads 2 --objects 5000", "--objects 500 --min-size 1000 --max-size 1100 --step 10"},
    {"speed", "--threads 2 --chain-repeats 500 --chain malloc-realloc-free-calloc",
     "--chain-repeats 500 --min-size 1000 --max-size 1100 --step 10"},
    {"memory", "--producers 2 --consumers-per-producer 2 --objects-per-consumer 500 --batch 150",
     "--objects-per-consumer 500 --batch 100 --min-size 1000 --max-size 1100 --step 10"},
    {"blowup", "--live-bytes 1MiB --rounds 6",
     "--live-bytes 1MiB --rounds 4 --min-size 1000 --max-size 1100"},
    {"sparse", "--threads 2 --objects 20 --size 100KiB", "--objects 200 --size 8KiB --written-pages 2"},
    {.name = "growth",
     .brief = "--elements 64 --operations 8192",
     .large = "--structure DS11 --elements 64 --operations 8192",
     .overlap = "overlaps one that is in use",
     .times_calls = false},
    {.name = "utilization",
     .brief = "--total 64KiB --active 8KiB --size 64",
     .large = "--total 1MiB --active 64KiB",
     .times_calls = false},
    {.name = "contention",
     .brief = "--threads 2 --allocations 500 --restarts 2",
     .large = "--threads 2 --allocations 100 --size 1000",
     .times_calls = false},
    {.name = "dimensions",
     .brief = "--threads 2 --operations 5000",
     .large = "--operations 5000 --size 1000",
     .times_calls = false},
    // Its nodes are small, and the chunks of pools are not.
    {.name = "locality",
     .brief = "--elements-total 4096 --subsystems 16",
     .large = "--elements-total 65536 --subsystems 128 --shuffle-factor 0 --strategy AS7",
     .unaligned = "--elements-total 65536 --subsystems 128 --shuffle-factor 0",
     .overlap = "list",
     .times_calls = false},
};

// Both outputs of the program under this environment ("NAME=value", may be empty). EMULATOR: the words before
// a program that is built for another machine; empty for this one.
inline testing::outcome run_program(const char* name, const std::string& arguments,
                                    const std::string& environment = "") {
  return testing::run_command(environment + " " + EMULATOR + " " + PROGRAMS + "/" + name + " " + arguments +
                              " 2>&1");
}

}  // namespace heaplab
