#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "probes/off_heap_pages.h"
#include "workloads/acdc/placed_array.h"
#include "workloads/acdc/thread_state.h"
#include "workloads/harness/destination.h"

namespace heaplab::acdc {

// The allocated and freed bytes and objects: after each tick of thread 0, and over the run by liveness and by
// size.
class accounts {
public:
  // Throws usage_error if `where` cannot be written. `where` must outlive this object.
  accounts(const std::string& where, std::uint64_t ticks);

  void note(std::uint64_t tick, const turnover& total) {
    if (rows_.empty()) return;
    // relaxed: the calling thread alone writes the counts in `total`.
    rows_[tick - 1] = {total.allocated_bytes.load(std::memory_order_relaxed),
                       total.freed_bytes.load(std::memory_order_relaxed), total.allocated_objects,
                       total.freed_objects};
  }

  // Writes tab-separated tables, each under a line of headings. Throws run_error; an earlier file then stays
  // as it was.
  void write(placed_array<thread_state>& threads) const;

private:
  struct row {
    std::uint64_t allocated_bytes;
    std::uint64_t freed_bytes;
    std::uint64_t allocated_objects;
    std::uint64_t freed_objects;
  };

  harness::destination where_;
  std::optional<probes::off_heap_pages> pages_;
  std::span<row> rows_;
};

}  // namespace heaplab::acdc
