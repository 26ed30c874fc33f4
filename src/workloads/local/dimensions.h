// The five dimensions of P0089, section 5, which describe the requests of a benchmark independently of the
// allocator.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include "workloads/harness/measurement.h"

namespace heaplab::strategies {

// The requests of a subsystem.
class requests {
public:
  void allocated(std::size_t bytes, std::uint64_t times = 1) {
    by_power_[std::bit_width(std::max<std::size_t>(bytes, 1) - 1)] += times;
    allocations_ += times;
    total_ += bytes * times;
    live_ += bytes * times;
    peak_ = std::max(peak_, live_);
  }
  void deallocated(std::size_t bytes, std::uint64_t times = 1) {
    deallocations_ += times;
    live_ -= bytes * times;
  }
  // A block was deallocated and then another one allocated, `times` times.
  void replaced(std::size_t bytes, std::uint64_t times) {
    const std::uint64_t peak = peak_;
    allocated(bytes, times);
    deallocated(bytes, times);
    peak_ = peak;
  }

  // Calls of allocate and deallocate.
  double calls() const { return static_cast<double>(allocations_ + deallocations_); }
  double peak_bytes() const { return static_cast<double>(peak_); }
  double total_bytes() const { return static_cast<double>(total_); }

  // Entropy of the sizes in bits; all sizes between two powers of two count as one size.
  double entropy() const {
    double bits = 0;
    for (const std::uint64_t count : by_power_) {
      if (count == 0) continue;
      const double share = static_cast<double>(count) / static_cast<double>(allocations_);
      bits -= share * std::log2(share);
    }
    return bits;
  }

private:
  std::array<std::uint64_t, 65> by_power_{};  // by the smallest power of two that is not below the size
  std::uint64_t allocations_ = 0;
  std::uint64_t deallocations_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t live_ = 0;
  std::uint64_t peak_ = 0;
};

// The counts of a subsystem while it is measured.
struct usage {
  requests asked = {};
  double accesses = 0;     // accesses to elements: all work besides allocate and deallocate
  double transitions = 1;  // how often the program turns from this subsystem to another or ends it
  double footprint = 0;    // bytes that the subsystem accesses
  std::uint64_t threads = 1;
};

// Adds the dimensions as metrics, all from 0 to 1. The paper gives words, not units; here
//   D  density: share of allocator calls among all operations, which are calls and accesses
//   V  variation: entropy of the sizes by powers of two, relative to ten equally frequent powers, 8 to 4096
//   L  locality: x / (1 + x) with x = I / (M T): I accesses, M bytes of footprint, T transitions
//   U  utilization: peak of the bytes in use, relative to all bytes ever allocated
//   C  contention: share of threads inside a call at a time: D, or 0 for one thread
inline void add_dimensions(const usage& of, harness::measurement& measured) {
  const double operations = of.asked.calls() + of.accesses;
  const double density = operations == 0 ? 0 : of.asked.calls() / operations;
  const double nearness = of.accesses / (of.footprint * of.transitions);
  measured.add_metric("density", density, "1");
  measured.add_metric("variation", std::min(of.asked.entropy() / std::log2(10.0), 1.0), "1");
  measured.add_metric("locality_dimension", nearness / (1 + nearness), "1");
  measured.add_metric("utilization_dimension", of.asked.peak_bytes() / of.asked.total_bytes(), "1");
  measured.add_metric("contention_dimension", of.threads > 1 ? density : 0, "1");
}

// The global allocator, which also records the requests.
class recording_resource final : public std::pmr::memory_resource {
public:
  const requests& recorded() const { return recorded_; }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    recorded_.allocated(bytes);
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    recorded_.deallocated(bytes);
    std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  requests recorded_;
};

}  // namespace heaplab::strategies
