#include "probes/off_heap_pages.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/atomic.h"
#include "base/os_pages.h"

namespace heaplab::probes {

namespace {

atomic<std::size_t> total{0};

}  // namespace

std::size_t off_heap_pages_total() {
  return total.load(std::memory_order_relaxed);
}

off_heap_pages::off_heap_pages(std::size_t bytes) {
  const std::size_t rounded = align_up(std::max<std::size_t>(bytes, 1), os_pages::page_bytes());
  if (rounded < bytes) throw std::bad_alloc();
  start_ = static_cast<std::byte*>(os_pages::allocate(rounded));
  if (start_ == nullptr) throw std::bad_alloc();
  bytes_ = rounded;
  // Huge pages are turned off for two reasons: the kernel cannot join this mapping with a mapping of the heap
  // under test, and cannot make more of it resident than was asked for.
  os_pages::advise_huge(start_, bytes_, false);
  if (!os_pages::populate(start_, bytes_)) std::memset(start_, 0, bytes_);
  total.fetch_add(bytes_, std::memory_order_relaxed);
}

off_heap_pages::off_heap_pages(off_heap_pages&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      used_(std::exchange(other.used_, 0)) {}

off_heap_pages& off_heap_pages::operator=(off_heap_pages&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(bytes_, other.bytes_);
  std::swap(used_, other.used_);
  return *this;
}

off_heap_pages::~off_heap_pages() {
  os_pages::unmap(start_, bytes_);
  total.fetch_sub(bytes_, std::memory_order_relaxed);
}

void* off_heap_pages::cut(std::size_t bytes, std::size_t alignment) {
  const std::size_t line = std::max(alignment, cache_line_bytes);
  const std::size_t begin = align_up(used_, line);
  if (begin > bytes_ || bytes > bytes_ - begin) throw std::bad_alloc();
  used_ = std::min(bytes_, align_up(begin + bytes, line));
  return start_ + begin;
}

}  // namespace heaplab::probes
