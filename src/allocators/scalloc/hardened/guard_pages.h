#pragma once

#include <cstddef>

namespace heaplab::scalloc {

// Pages that no program may touch. Both functions take whole pages, which are readable and writable but for a
// guard that is there already.

// Linux 6.13 and later mark the pages. Before, they need a mapping of their own, of which a process may have
// 65 530 (vm.max_map_count): only where `may_split`. False: no guard.
template <class Platform>
bool install_guard(char* start, std::size_t bytes, bool may_split) {
  return Platform::install_guard(start, bytes) || (may_split && Platform::make_inaccessible(start, bytes));
}

// Removes a guard of either kind; the system call for the other kind may fail, for instance because a filter
// refuses it. False: the guard is still there.
template <class Platform>
bool remove_guard(char* start, std::size_t bytes) {
  const bool unmarked = Platform::remove_guard(start, bytes);
  const bool accessible = Platform::make_accessible(start, bytes);
  return (unmarked && accessible) || Platform::is_readable(start);
}

}  // namespace heaplab::scalloc
