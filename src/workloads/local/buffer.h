// The memory with which a strategy begins, like the static arrays of the papers.
#pragma once

#include <cstddef>
#include <new>
#include <span>

#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::strategies {

// Zeroed, untouched pages. They count as memory of the heap as soon as they are touched.
class buffer {
public:
  // Throws std::bad_alloc if the system refuses the pages.
  explicit buffer(std::size_t bytes)
      : bytes_(align_up(bytes, os_pages::page_bytes())),
        start_(bytes == 0 ? nullptr : os_pages::reserve(bytes_, os_pages::page_bytes())) {
    if (bytes != 0 && start_ == nullptr) throw std::bad_alloc();
  }
  ~buffer() { os_pages::unmap(start_, bytes_); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(start_), bytes_}; }

private:
  std::size_t bytes_;
  void* start_;
};

}  // namespace heaplab::strategies
