// All operations of the heap, as src/base/heap_concept.h and heaplab/llheap.h require them.
#pragma once

#include <cstddef>

#include "allocators/llheap/llheap.h"
#include "allocators/llheap/report.h"
#include "allocators/llheap/resizing.h"
#include "base/heap_concept.h"

namespace heaplab::llheap {

template <config Config, class Policy = fixed_policy<Config>, class Platform = system_platform>
class operations : public core<Config, Policy, Platform> {
  using below = core<Config, Policy, Platform>;
  using resizer = resizing<below>;

public:
  // As allocate and allocate_aligned; only statistics tell them apart.
  static void* allocate_array(std::size_t size) noexcept { return below::allocate(size); }
  static void* allocate_aligned_array(std::size_t alignment, std::size_t size) noexcept {
    return below::allocate_aligned(alignment, size);
  }

  static void* reallocate(void* user, std::size_t size) noexcept { return resizer::reallocate(user, size); }
  static void* reallocate_aligned(void* user, std::size_t alignment, std::size_t size) noexcept {
    return resizer::reallocate_aligned(user, alignment, size);
  }
  static void* resize(void* user, std::size_t size) noexcept { return resizer::resize(user, size); }
  static void* resize_aligned(void* user, std::size_t alignment, std::size_t size) noexcept {
    return resizer::resize_aligned(user, alignment, size);
  }

  static std::size_t alignment(void* user) noexcept { return block_view(user).alignment(); }
  static bool is_zero_filled(void* user) noexcept { return block_view(user).is(zero_filled); }
  static std::size_t request_size(void* user) noexcept { return block_view(user).request(); }

  static heap_statistics statistics() noexcept { return statistics_of<below>(take_account<below>()); }

  static void print_statistics(int fd) noexcept { print(fd, false); }

  // Prints the storage and the counts of calls; with `buckets` also how many blocks are free in every bucket.
  static void print(int fd, bool buckets) noexcept {
    const account now = take_account<below>();
    print_storage(now, fd);
    if constexpr (Config.statistics) print_totals(now.totals, cleared_, fd);
    if (buckets) print_buckets(now, fd);
  }

  // The calls of the calling thread's heap alone, those of ended threads that had it before included.
  static void print_own_heap(int fd) noexcept {
    all_totals totals{};
    if (const thread_heap* const mine = below::my_heap()) mine->counters.add_to(totals);
    print_totals(totals, {}, fd);
  }

  // Counts of calls start again from zero.
  static void clear_statistics() noexcept { cleared_ = take_account<below>().totals; }

  // One line if more than `forgiven` bytes are live; for the end of a process. Needs statistics.
  static void print_unfreed(int fd, std::size_t forgiven) noexcept {
    const std::uint64_t live = take_account<below>().counted_live_bytes();
    if (live > forgiven) number_line("unfreed").add("bytes", live - forgiven).write_to(fd);
  }

private:
  static inline constinit all_totals cleared_{};
};

}  // namespace heaplab::llheap
