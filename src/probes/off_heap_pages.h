// Memory for bookkeeping that never comes from the heap under test: separate pages, all touched when they are
// taken, so that nothing faults or allocates while the clock runs.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "base/bits.h"
#include "base/cache_line.h"

namespace heaplab::probes {

// Total bytes of all live off_heap_pages, to be subtracted from the memory of the process.
std::size_t off_heap_pages_total();

// A region of touched, zeroed pages from which arrays are cut. The region is unmapped as a whole.
class off_heap_pages {
public:
  // Maps `bytes`, rounded up to pages. Throws std::bad_alloc when the system refuses.
  explicit off_heap_pages(std::size_t bytes);
  off_heap_pages(off_heap_pages&& other) noexcept;
  off_heap_pages& operator=(off_heap_pages&& other) noexcept;
  ~off_heap_pages();

  // Cuts off an array of `count` value-initialised elements. Two arrays never share a cache line. Throws
  // std::bad_alloc if the array does not fit.
  template <class T>
  std::span<T> array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>, "off_heap_pages runs no destructor");
    if (count > bytes_ / sizeof(T)) throw std::bad_alloc();
    T* const first = static_cast<T*>(cut(count * sizeof(T), alignof(T)));
    std::uninitialized_value_construct_n(first, count);
    return {first, count};
  }

  // As array, for one object.
  template <class T>
  T& object() {
    return array<T>(1)[0];
  }

  std::size_t bytes() const { return bytes_; }
  std::size_t left() const { return bytes_ - used_; }

  // Upper bound of the bytes that array<T>(count) uses, for computing the size of a region.
  template <class T>
  static constexpr std::size_t needed(std::size_t count) {
    constexpr std::size_t line = alignof(T) > cache_line_bytes ? alignof(T) : cache_line_bytes;
    return align_up(count * sizeof(T), line) + line;
  }

private:
  void* cut(std::size_t bytes, std::size_t alignment);

  std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t used_ = 0;
};

}  // namespace heaplab::probes
