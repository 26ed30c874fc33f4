// Options that several workloads have: the same name and description in all of them.
#pragma once

#include <cstdint>

#include "workloads/harness/option_table.h"

namespace heaplab::harness {

inline void declare_threads(option_table& options, std::uint64_t& variable, std::uint64_t most = 1024) {
  options.count("threads", variable, {1, most}, "Threads at work at a time");
}

inline void declare_producers(option_table& options, std::uint64_t& variable, std::uint64_t most) {
  options.count("producers", variable, {1, most}, "Threads that allocate");
}

inline void declare_objects(option_table& options, std::uint64_t& variable, std::uint64_t most) {
  options.count("objects", variable, {1, most}, "Objects allocated by each thread that allocates");
}

inline void declare_live_objects(option_table& options, std::uint64_t& variable,
                                 range<std::uint64_t> allowed) {
  options.count("live-objects", variable, allowed, "Objects each thread holds at a time, at most");
}

inline void declare_rounds(option_table& options, std::uint64_t& variable, std::uint64_t most) {
  options.count("rounds", variable, {1, most}, "Rounds of allocating and freeing");
}

inline void declare_lives(option_table& options, std::uint64_t& variable) {
  options.count("lives", variable, {1, 100'000'000},
                "Short-lived threads that follow each other in each place of --threads");
}

inline void declare_grown(option_table& options, double& variable) {
  options.percent("grown", variable, "Chosen objects that realloc makes up to twice as large");
}

inline void declare_write_all(option_table& options, bool& variable) {
  options.flag(
      "write-all", variable,
      "Whether every byte of an object is written when it is allocated or grows; else both ends are");
}

inline void declare_size(option_table& options, std::uint64_t& variable, std::uint64_t most,
                         std::uint64_t least = 1) {
  options.size("size", variable, {least, most}, "Size of every object");
}

inline void declare_min_size(option_table& options, std::uint64_t& variable, range<std::uint64_t> allowed) {
  options.size("min-size", variable, allowed, "No object is smaller");
}

inline void declare_max_size(option_table& options, std::uint64_t& variable, range<std::uint64_t> allowed) {
  options.size("max-size", variable, allowed, "No object is larger");
}

// For original programs whose largest size is itself never allocated.
inline void declare_size_limit(option_table& options, std::uint64_t& variable, range<std::uint64_t> allowed) {
  options.size("size-limit", variable, allowed, "Every object is smaller than this");
}

inline void declare_batch(option_table& options, std::uint64_t& variable, std::uint64_t most) {
  options.count("batch", variable, {1, most}, "Objects handed over together");
}

inline void declare_queue(option_table& options, std::uint64_t& variable) {
  options.count("queue", variable, {1, 1'000'000},
                "Batches between those who allocate and those who free, including those at work");
}

}  // namespace heaplab::harness
