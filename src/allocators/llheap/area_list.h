#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/os_pages.h"
#include "base/platform.h"

namespace heaplab::llheap {

// [start, end); start is null where there is none.
struct extent {
  char* start = nullptr;
  char* end = nullptr;
};

// All areas of the heap. Any thread may ask at any time whether an address lies in an area, while the holder
// of a lock adds another area. The list is a chain of chunks that only grows; the first chunk is part of the
// list.
template <class Platform = system_platform>
class area_list {
public:
  // False: no memory, nothing has changed.
  bool add(extent area) {
    if (last_->add(area)) return true;
    void* const place =
        Platform::allocate(align_up(sizeof(chunk), os_pages::page_bytes()), os_pages::page_bytes());
    if (place == nullptr) return false;
    chunk* const more = new (place) chunk;
    more->add(area);
    last_->next.store(more, std::memory_order_release);  // pairs with has
    last_ = more;
    return true;
  }

  bool has(const void* address) const {
    for (const chunk* current = &first_; current != nullptr;
         current = current->next.load(std::memory_order_acquire))
      if (current->has(reinterpret_cast<std::uintptr_t>(address))) return true;
    return false;
  }

private:
  struct chunk {
    static constexpr std::size_t capacity = os_pages::smallest_page_bytes / sizeof(extent) - 1;

    bool add(extent area) {
      const std::size_t known = count.load(std::memory_order_relaxed);
      if (known == capacity) return false;
      areas[known] = area;
      count.store(known + 1, std::memory_order_release);  // pairs with has
      return true;
    }

    bool has(std::uintptr_t place) const {
      const std::size_t known = count.load(std::memory_order_acquire);
      return std::any_of(areas.begin(), areas.begin() + known, [place](const extent& area) {
        return place >= reinterpret_cast<std::uintptr_t>(area.start) &&
               place < reinterpret_cast<std::uintptr_t>(area.end);
      });
    }

    atomic<std::size_t> count{0};
    atomic<chunk*> next{nullptr};
    std::array<extent, capacity> areas{};
  };
  static_assert(sizeof(chunk) <= os_pages::smallest_page_bytes);

  chunk first_;
  chunk* last_ = &first_;
};

}  // namespace heaplab::llheap
