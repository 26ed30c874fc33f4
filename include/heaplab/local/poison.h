// Tells AddressSanitizer which bytes no live block holds, so that it reports a use after deallocate or
// release inside a local allocator. Costs nothing without the sanitizer.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HEAPLAB_LOCAL_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEAPLAB_LOCAL_POISON 1
#endif
#endif

#ifdef HEAPLAB_LOCAL_POISON
#include <sanitizer/asan_interface.h>
#endif

namespace heaplab::local {

inline void poison([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef HEAPLAB_LOCAL_POISON
  __asan_poison_memory_region(begin, bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef HEAPLAB_LOCAL_POISON
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

// Whether some of the bytes are poisoned; false without the sanitizer.
inline bool is_poisoned([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef HEAPLAB_LOCAL_POISON
  return __asan_region_is_poisoned(begin, bytes) != nullptr;
#else
  return false;
#endif
}

}  // namespace heaplab::local
