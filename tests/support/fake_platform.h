// The operating system as a test wants it: the next calls of a kind fail, and the time is the test's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/platform.h"

namespace heaplab {

struct fake_platform : system_platform {
  // How many of the next calls fail.
  static inline unsigned refused_allocations, refused_reservations, refused_unmaps, refused_remaps;
  // What the next allocation returns instead of new pages, if not null.
  static inline void* planted = nullptr;
  static inline std::int64_t now;  // ms
  static inline unsigned unmaps;   // that did not fail

  static void reset() {
    refused_allocations = refused_reservations = refused_unmaps = refused_remaps = unmaps = 0;
    planted = nullptr;
    now = 1'000'000;
  }

  static void* allocate(std::size_t bytes, std::size_t alignment) {
    if (fails(refused_allocations)) return nullptr;
    if (planted == nullptr) return os_pages::allocate(bytes, alignment);
    void* const result = planted;
    planted = nullptr;
    return result;
  }
  static void* reserve(std::size_t bytes, std::size_t alignment) {
    return fails(refused_reservations) ? nullptr : os_pages::reserve(bytes, alignment);
  }
  static bool unmap(void* address, std::size_t bytes) {
    if (fails(refused_unmaps)) return false;
    if (bytes > 0) ++unmaps;
    return os_pages::unmap(address, bytes);
  }
  static void* remap(void* address, std::size_t old_bytes, std::size_t new_bytes) {
    return fails(refused_remaps) ? nullptr : os_pages::remap(address, old_bytes, new_bytes);
  }
  static void* remap_aligned(void* address, std::size_t old_bytes, std::size_t new_bytes,
                             std::size_t alignment) {
    return fails(refused_remaps) ? nullptr
                                 : os_pages::remap_aligned(address, old_bytes, new_bytes, alignment);
  }
  static std::int64_t milliseconds() { return now; }

private:
  static bool fails(unsigned& refused) {
    if (refused == 0) return false;
    --refused;
    return true;
  }
};

}  // namespace heaplab
