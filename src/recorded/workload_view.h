#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "recorded/workload_format.h"

namespace heaplab::recorded {

// A workload file, mapped for reading and resident. The constructor checks that every operation can be
// carried out: its action is known, and everything it names exists.
class workload_view {
public:
  // Throws file_error with one line unless the file is a complete workload file.
  explicit workload_view(const std::string& path);
  ~workload_view();
  workload_view(const workload_view&) = delete;
  workload_view& operator=(const workload_view&) = delete;

  const header& head() const { return *reinterpret_cast<const header*>(start_); }
  std::span<const stream> streams() const { return table<stream>(head().streams_at, head().streams); }
  std::span<const segment> segments_of(const stream& which) const {
    return table<segment>(head().segments_at, head().segments).subspan(which.first_segment, which.segments);
  }
  std::span<const operation> operations_of(const segment& which) const {
    return table<operation>(which.offset, which.operations);
  }
  std::span<const side> sides() const { return table<side>(head().sides_at, head().sides); }
  std::span<const epoch> epochs() const { return table<epoch>(head().epochs_at, head().epochs); }
  std::span<const census> censuses() const { return table<census>(head().censuses_at, head().censuses); }
  std::span<const survivor> survivors_of(const census& taken) const {
    return table<survivor>(head().survivors_at, head().survivors)
        .subspan(taken.first_survivor, taken.survivors);
  }

private:
  template <class T>
  std::span<const T> table(std::uint64_t at, std::uint64_t count) const {
    return {reinterpret_cast<const T*>(start_ + at), static_cast<std::size_t>(count)};
  }

  const std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace heaplab::recorded
