// One call of an allocation function, or one event in the life of a thread, as every reader of a trace sees
// it.
//
// The numbers of the kinds are part of the file format (docs/trace-format.md) and never change meaning.
#pragma once

#include <cstdint>
#include <string_view>

namespace heaplab::trace {

enum class kind : std::uint8_t {
  none = 0,
  // Acquisitions: the call returned `address`, or failed if `address` is 0. Stamped after the call.
  malloc = 1,
  calloc = 2,
  realloc_to = 3,  // the result of realloc; the release of the old block, if any, precedes this event
  posix_memalign = 4,
  aligned_alloc = 5,
  memalign = 6,
  valloc = 7,
  pvalloc = 8,
  new_object = 9,
  new_array = 10,
  new_object_nothrow = 11,
  new_array_nothrow = 12,
  reallocarray_to = 13,
  // Releases of `address`. Stamped before the call.
  free = 32,
  free_sized = 33,
  free_aligned_sized = 34,
  realloc_from = 35,  // the thread's next event is the realloc_to, unless the requested size was 0
  delete_object = 36,
  delete_array = 37,
  delete_object_sized = 38,
  delete_array_sized = 39,
  reallocarray_from = 40,
  // Events in the life of a thread. `address` is the number in the trace of the thread concerned, 0 if
  // unknown.
  thread_begin = 64,  // the thread's first event; size: the system's thread id
  thread_end = 65,    // the thread's exit handlers have begun to run; the thread may still free
  thread_create = 66,
  thread_join = 67,
};

// `size` is the requested size of an acquisition (of calloc and reallocarray the product), or the size that a
// sized release names, in bytes; 0 for other releases.
struct event {
  std::uint64_t stamp = 0;  // ticks; equal for events whose order is not known
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint32_t thread = 0;  // number by first appearance in the process, from 1
  std::uint32_t site = 0;    // number of the call site, from 1; 0: not recorded
  trace::kind kind = kind::none;
  std::uint8_t alignment_log2 = 0;  // of the requested alignment; 0: none

  bool operator==(const event&) const = default;
};

constexpr bool is_acquisition(kind k) {
  return k >= kind::malloc && k <= kind::reallocarray_to;
}

constexpr bool is_release(kind k) {
  return k >= kind::free && k <= kind::reallocarray_from;
}

constexpr bool is_growth(kind k) {  // the acquiring half of a reallocation
  return k == kind::realloc_to || k == kind::reallocarray_to;
}

constexpr bool is_known(kind k) {
  return is_acquisition(k) || is_release(k) || (k >= kind::thread_begin && k <= kind::thread_join);
}

// The name in the table of docs/trace-format.md; "" for an unknown kind.
constexpr std::string_view name_of(kind k) {
  constexpr std::string_view acquisitions[] = {
      "malloc",  "calloc", "realloc_to", "posix_memalign", "aligned_alloc", "memalign",       "valloc",
      "pvalloc", "new",    "new[]",      "new nothrow",    "new[] nothrow", "reallocarray_to"};
  constexpr std::string_view releases[] = {"free",         "free_sized",     "free_aligned_sized",
                                           "realloc_from", "delete",         "delete[]",
                                           "delete sized", "delete[] sized", "reallocarray_from"};
  constexpr std::string_view turns[] = {"thread_begin", "thread_end", "thread_create", "thread_join"};
  const auto number = static_cast<unsigned>(k);
  if (is_acquisition(k)) return acquisitions[number - static_cast<unsigned>(kind::malloc)];
  if (is_release(k)) return releases[number - static_cast<unsigned>(kind::free)];
  return is_known(k) ? turns[number - static_cast<unsigned>(kind::thread_begin)] : "";
}

}  // namespace heaplab::trace
