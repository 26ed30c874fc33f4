// A heap that has been in use before: the service behind --aged.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probes/off_heap_pages.h"
#include "workloads/harness/random_stream.h"
#include "workloads/harness/size_mix.h"
#include "workloads/harness/stamp.h"

namespace heaplab::harness {

// What --aged SEED:OCCUPANCY asks for.
struct aging {
  std::uint64_t seed = 0;
  double occupancy = 0;  // percent of the blocks that stay

  // Throws usage_error without the option's name.
  static aging read(const std::string& text);
};

// Blocks in the sizes of a workload, of which a random share stays until the run is over: what the workload
// then gets lies in the holes between them.
class aged_heap {
public:
  static constexpr std::uint64_t bytes_before_frees = std::uint64_t{64} << 20;  // of all threads together

  // Takes pages for the records of `threads` threads. Throws usage_error.
  aged_heap(const aging& wanted, const size_mix& sizes, unsigned threads);

  // Allocates this thread's part and frees the rest of it, in random order.
  void age(unsigned thread);
  // Checks and frees everything that stayed; by any thread, after the run.
  void release();

  std::uint64_t live_bytes() const;

private:
  aging wanted_;
  size_mix sizes_;
  std::uint64_t bytes_each_;
  std::vector<probes::off_heap_pages> pages_;
  std::vector<std::span<block>> blocks_;  // by thread: those that stayed
};

}  // namespace heaplab::harness
