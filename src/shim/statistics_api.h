// glibc's functions about the heap as a whole. Sizes in bytes.
//
//   mallinfo2   arena = committed, ordinary blocks = live, free = the difference, mmapped = mapped, number of
//               ordinary blocks (which glibc calls so, and are those that are free) = free_blocks
//   mallinfo    the same, cut off at INT_MAX
//   mallopt     passes the option to a heap that has set_option(option, value). Otherwise returns 1, as glibc
//               does, and has no effect: the options steer glibc's arenas
//   malloc_info writes XML with those elements of glibc's that have a meaning here; EINVAL unless options is
//   0
//
// Included by bind.h, behind the definition of bound_heap.
#pragma once

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/compiler.h"
#include "base/heap_concept.h"

namespace heaplab::shim {

template <class Heap>
int set_option([[maybe_unused]] int option, [[maybe_unused]] int value) {
  if constexpr (requires { Heap::set_option(option, value); }) return Heap::set_option(option, value);
  return 1;
}

}  // namespace heaplab::shim

extern "C" {

HEAPLAB_EXPORT int malloc_trim(std::size_t pad) noexcept {
  return heaplab::shim::bound_heap::trim(pad) ? 1 : 0;
}

HEAPLAB_EXPORT struct mallinfo2 mallinfo2() noexcept {
  const heaplab::heap_statistics now = heaplab::shim::bound_heap::statistics();
  struct mallinfo2 info = {};
  info.arena = now.committed;
  info.ordblks = now.free_blocks;
  info.hblks = now.mappings;
  info.hblkhd = now.mapped;
  info.uordblks = now.live;
  info.fordblks = now.committed - std::min(now.live, now.committed);
  return info;
}

HEAPLAB_EXPORT struct mallinfo mallinfo() noexcept {
  const auto cut_off = [](std::size_t value) {
    return static_cast<int>(std::min<std::size_t>(value, INT_MAX));
  };
  const struct mallinfo2 full = mallinfo2();
  struct mallinfo info = {};
  info.arena = cut_off(full.arena);
  info.ordblks = cut_off(full.ordblks);
  info.hblks = cut_off(full.hblks);
  info.hblkhd = cut_off(full.hblkhd);
  info.uordblks = cut_off(full.uordblks);
  info.fordblks = cut_off(full.fordblks);
  return info;
}

HEAPLAB_EXPORT int mallopt(int option, int value) noexcept {
  return heaplab::shim::set_option<heaplab::shim::bound_heap>(option, value);
}

HEAPLAB_EXPORT void malloc_stats() noexcept {
  heaplab::shim::bound_heap::print_statistics(STDERR_FILENO);
}

HEAPLAB_EXPORT int malloc_info(int options, FILE* file) noexcept {
  if (options != 0) return EINVAL;
  const heaplab::heap_statistics now = heaplab::shim::bound_heap::statistics();
  std::fprintf(file,
               "<malloc version=\"1\" allocator=\"%s\">\n"
               "<total type=\"live\" size=\"%zu\"/>\n"
               "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n"
               "<system type=\"current\" size=\"%zu\"/>\n"
               "<aspace type=\"total\" size=\"%zu\"/>\n"
               "</malloc>\n",
               heaplab::shim::bound_heap::name, now.live, now.mappings, now.mapped, now.committed,
               now.reserved);
  return 0;
}

}  // extern "C"
