#pragma once

#include <algorithm>
#include <cstdint>

#include "base/assertion.h"
#include "base/bits.h"
#include "workloads/harness/option_table.h"
#include "workloads/harness/random_stream.h"
#include "workloads/harness/shared_options.h"
#include "workloads/harness/usage_error.h"

namespace heaplab::harness {

// Whether the upper end of the sizes is itself allocated.
enum class upper_end { included, excluded };

// The sizes that a workload allocates, in bytes, both ends included: 0 < least <= most.
struct size_mix {
  std::uint64_t least = 16;
  std::uint64_t most = 1024;

  // Declares --min-size and --max-size, or --size-limit where the upper end is excluded.
  void declare(option_table& options, range<std::uint64_t> allowed, upper_end end = upper_end::included) {
    declare_min_size(options, least, allowed);
    if (end == upper_end::included)
      declare_max_size(options, most, allowed);
    else
      declare_size_limit(options, most, allowed);
  }

  // Throws usage_error.
  void check() const {
    if (least > most) throw usage_error("--min-size must not exceed --max-size");
  }

  // All sizes are equally likely.
  std::uint64_t uniform(random_stream& random) const { return random.between(least, most); }

  // All powers of two are equally likely, and so are the sizes within one: small objects dominate, as in most
  // programs.
  std::uint64_t logarithmic(random_stream& random) const {
    HEAPLAB_ASSERT(0 < least && least <= most);
    const unsigned lowest = log2_floor(least);
    const unsigned highest = log2_floor(std::max(most - 1, least));
    const std::uint64_t power = random.between(lowest, highest);
    const std::uint64_t base = std::uint64_t{1} << power;
    return random.between(std::max(base, least), power == highest ? most : 2 * base - 1);
  }
};

}  // namespace heaplab::harness
