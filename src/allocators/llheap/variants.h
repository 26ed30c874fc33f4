// The heaps that are built: values of config, and the names of their libraries.
#pragma once

#include <type_traits>

#include "allocators/llheap/config.h"
#include "allocators/llheap/operations.h"
#include "allocators/llheap/watched.h"

namespace heaplab::llheap {

template <config Config, class Policy = fixed_policy<Config>, class Platform = system_platform>
using heap_for = std::conditional_t<Config.statistics || Config.debug, watched<Config, Policy, Platform>,
                                    operations<Config, Policy, Platform>>;

inline constexpr config plain{};
inline constexpr config without_ownership{.ownership = false};
inline constexpr config counting{.statistics = true};
inline constexpr config debugging{.statistics = true, .debug = true};

constexpr const char* name_of(const config& variant) {
  if (variant.debug) return "llheap-debug";
  if (variant.statistics) return "llheap-stats";
  return variant.ownership ? "llheap" : "llheap-no-ownership";
}

}  // namespace heaplab::llheap
