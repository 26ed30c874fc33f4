#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory_resource>

#include "base/bits.h"
#include "heaplab/local/local.h"
#include "workloads/harness/stamp.h"
#include "workloads/local/buffer.h"

namespace heaplab::strategies {

// The global allocator with checks: ends the program if memory is returned that is in use or misaligned.
// Keeps its records outside the heap under test.
class watching_resource final : public std::pmr::memory_resource {
private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const block = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    const std::size_t owed = std::max<std::size_t>(alignment, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    if (!is_aligned(block, owed)) harness::broken_block({block, bytes}, "is not aligned");
    const auto start = reinterpret_cast<std::uintptr_t>(block);
    const auto after = in_use_.lower_bound(start + bytes);
    if (after != in_use_.begin() && std::prev(after)->second > start)
      harness::broken_block({block, bytes}, "overlaps one that is in use");
    in_use_.emplace_hint(after, start, start + bytes);
    return block;
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    in_use_.erase(reinterpret_cast<std::uintptr_t>(block));
    std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  buffer room_{std::size_t{16} << 20};
  local::resource<local::multipool_over_monotonic<>> nodes_{
      local::multipool_over_monotonic_options{.arena = {.buffer = room_.bytes()}}};
  // maps the start of each block in use to its end
  std::pmr::map<std::uintptr_t, std::uintptr_t> in_use_{&nodes_};
};

}  // namespace heaplab::strategies
