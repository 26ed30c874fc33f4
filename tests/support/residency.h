#pragma once

#include <cstdint>

#include "base/os_pages.h"
#include "probes/page_residency.h"

namespace heaplab::testing {

// Whether /proc/self/pagemap tells of this program's own pages: not where an emulator of another processor
// runs it.
inline bool own_pages_are_told() {
#if defined(__x86_64__)
  return true;
#else
  const volatile int touched = 1;
  probes::page_residency residency;
  return residency.is_resident(reinterpret_cast<std::uintptr_t>(&touched) / os_pages::page_bytes());
#endif
}

}  // namespace heaplab::testing
