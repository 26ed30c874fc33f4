// A heap that has already been in use: the service behind --aged.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "probes/off_heap_pages.h"
#include "workloads/harness/random_stream.h"
#include "workloads/harness/size_mix.h"
#include "workloads/harness/stamp.h"

namespace heaplab::harness {

// The parsed value SEED:OCCUPANCY of --aged.
struct aging {
  std::uint64_t seed = 0;
  double occupancy = 0;  // percentage of the blocks that stay allocated

  // Throws usage_error with a text that does not contain the option's name.
  static aging read(const std::string& text);
};

// Allocates blocks in the sizes of a workload and frees all but a random share, which stays until the end of
// the run. The blocks of the workload then lie in the holes between the remaining blocks.
class aged_heap {
public:
  static constexpr std::uint64_t bytes_before_frees = std::uint64_t{64} << 20;  // of all threads together

  // Takes pages for the records of `threads` threads. Throws usage_error.
  aged_heap(const aging& wanted, const size_mix& sizes, unsigned threads);

  // Allocates this thread's blocks and frees those that do not stay, in random order.
  void age(unsigned thread);
  // Checks and frees all blocks that stayed. Called by any thread, after the run.
  void release();

  std::uint64_t live_bytes() const;

private:
  aging wanted_;
  size_mix sizes_;
  std::uint64_t bytes_each_;
  std::vector<probes::off_heap_pages> pages_;
  std::vector<std::span<block>> blocks_;  // by thread: the blocks that stayed
};

}  // namespace heaplab::harness
