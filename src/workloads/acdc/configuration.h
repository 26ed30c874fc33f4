#pragma once

#include <cstdint>
#include <string>

#include "workloads/harness/harness.h"

namespace heaplab::acdc {

enum class mode { acdc, false_sharing };

// Replaces the allocator for a baseline: none: the allocator serves; compact: one block for a whole
// lifetime-size-class, without gaps; align: the same with every object on a cache line of its own; null: no
// memory at all.
enum class pseudo_allocator { none, compact, align, null };

// The order in which a list links its objects, and so in which they are accessed and freed.
enum class list_order { allocation, strided, random };

// Table 1 of the paper with its defaults, and heaplab's additions. Times are in ticks of the logical clock.
struct configuration {
  acdc::mode mode = mode::acdc;
  std::uint64_t threads = 1;
  std::uint64_t objects = 0;  // objects of each lifetime-size-class; 0: by the formula of the paper
  std::uint64_t min_size = 16;
  std::uint64_t max_size = 256;
  std::uint64_t min_liveness = 1;
  std::uint64_t max_liveness = 10;
  std::uint64_t deallocation_delay = 0;
  std::uint64_t time_quantum = 256 * std::uint64_t{1024};
  std::uint64_t ticks = 50;
  std::uint64_t max_time_drift = 10;
  double list_ratio = 100;
  acdc::list_order list_order = list_order::allocation;
  bool access_live_objects = true;
  double write_access_ratio = 10;
  std::uint64_t write_iterations = 1;
  bool shared_objects = false;
  double shared_objects_ratio = 100;
  double receiving_threads_ratio = 100;
  bool shares_each_class = false;
  double permanent_objects_ratio = 0;
  acdc::pseudo_allocator pseudo_allocator = pseudo_allocator::none;
  bool historic = false;
  std::string accounts;

  void declare(harness::option_table& options);
  // Sets the defaults that depend on other options. Throws usage_error for impossible combinations.
  void check(const harness::option_table& options);

  // Memory samples count from this tick on (paper section 2.2).
  std::uint64_t warm_up() const { return 2 * max_liveness; }

private:
  void check_sizes() const;
  void check_times(const harness::option_table& options);
  void check_pseudo_allocator(const harness::option_table& options);
  void check_historic() const;
  void settle_false_sharing(const harness::option_table& options);
};

// Bytes of the links of an object: also the smallest size of an object in such a structure.
inline constexpr std::uint64_t list_links = 8;
inline constexpr std::uint64_t tree_links = 16;

}  // namespace heaplab::acdc
