#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "probes/own_pages.h"
#include "workloads/acdc/placed_array.h"
#include "workloads/acdc/thread_state.h"

namespace heaplab::acdc {

// What was allocated and freed: after each tick of thread 0, and over the run by liveness and by size.
class accounts {
public:
  // Opens the file now, so that a wrong path is refused before the run. Throws usage_error.
  accounts(const std::string& where, std::uint64_t ticks);
  ~accounts();
  accounts(const accounts&) = delete;
  accounts& operator=(const accounts&) = delete;

  void note(std::uint64_t tick, const turnover& total) {
    if (!rows_.empty())
      rows_[tick - 1] = {total.allocated_bytes, total.freed_bytes, total.allocated_objects,
                         total.freed_objects};
  }

  // Tab-separated tables, each under a line of headings. Throws run_error.
  void write(placed_array<thread_state>& threads) const;

private:
  struct row {
    std::uint64_t allocated_bytes;
    std::uint64_t freed_bytes;
    std::uint64_t allocated_objects;
    std::uint64_t freed_objects;
  };

  std::string where_;
  int file_ = -1;
  std::optional<probes::own_pages> pages_;
  std::span<row> rows_;
};

}  // namespace heaplab::acdc
