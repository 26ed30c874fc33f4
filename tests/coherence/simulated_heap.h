// scalloc on a simulated machine: the frontend, the span-pool, the arena and the registry of buffers as they
// are, with simulated atomics. What is left out of scalloc_heap.h is the thread-local variable that holds a
// thread's buffer, and large blocks.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "allocators/scalloc/frontend/allocation.h"
#include "allocators/scalloc/frontend/freeing.h"
#include "allocators/scalloc/frontend/lab_registry.h"
#include "allocators/scalloc/frontend/returned_blocks.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/policy/library_traits.h"
#include "base/cache_line.h"
#include "coherence/machine.h"
#include "coherence/simulated_sync.h"
#include "concurrent/purge_thread_post.h"
#include "scalloc/traits.h"

namespace heaplab::coherence {

// Time stands still: nothing decays. Purges succeed and do nothing. What the heap asks for is given back with
// the heap.
struct simulated_platform : system_platform {
  static inline std::vector<std::pair<void*, std::size_t>> allocated;

  static void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const place = os_pages::allocate(bytes, alignment);
    allocated.emplace_back(place, bytes);
    return place;
  }
  static bool unmap(void* place, std::size_t bytes) {
    std::erase(allocated, std::pair(place, bytes));
    return os_pages::unmap(place, bytes);
  }
  static void release_all() {
    for (const auto& [place, bytes] : allocated) os_pages::unmap(place, bytes);
    allocated.clear();
  }
  static bool purge(void*, std::size_t) { return true; }
  static bool purge_each(std::span<const iovec>) { return true; }
  static bool purge_at_once(std::span<const iovec>) { return true; }
  static std::int64_t milliseconds() { return 1'000'000; }
};

// The background purge thread is there once somebody asks for it. As time stands still, the thread does
// nothing; the word by which others ask for it is simulated.
template <const scalloc::config& Config>
struct simulated_traits : scalloc::test_traits<simulated_sync, Config, simulated_platform> {
  struct alignas(cache_line_bytes) post_type : concurrent::purge_thread_post<simulated_sync> {};
  static inline std::optional<post_type> post;

  static bool ask_for_purge() {
    post->ask();
    return true;
  }
  static bool has_purge_thread() { return post->is_held(); }
};

template <const scalloc::config& Config>
class simulated_heap {
  using traits = simulated_traits<Config>;
  using policy = scalloc::lab_policy<traits>;
  // What is simulated lies on lines as in the library.
  static_assert(sizeof(scalloc::span_life<traits>) ==
                sizeof(scalloc::span_life<scalloc::library_traits<Config>>));
  using span_type = scalloc::span<traits>;

public:
  using lab_type = scalloc::lab<traits>;
  using classes = typename traits::classes;

  simulated_heap() {
    traits::post.emplace();
    if (!life_.open(scalloc::tuning{Config}, std::max(Config.pool_columns, 1U)))
      throw std::runtime_error("no address space");
  }
  ~simulated_heap() {
    life_.arena.close();
    simulated_platform::release_all();
  }
  simulated_heap(const simulated_heap&) = delete;
  simulated_heap& operator=(const simulated_heap&) = delete;

  // A thread begins on the core.
  lab_type& begin_thread(unsigned core) {
    if (Config.pool_columns == 0) life_.pool.see_processor(core);
    return *labs_.attach(life_.pool.columns());
  }
  void end_thread(lab_type& local) { labs_.detach(life_, local); }

  // `fast` becomes whether the fast path was enough.
  void* allocate(lab_type& local, std::size_t bytes, bool& fast) {
    const unsigned class_index = classes::index_of(bytes);
    void* block = nullptr;
    fast = policy::has_fast_path && (block = try_allocate(local, class_index)) != nullptr;
    if (fast) return block;
    const typename policy::use in_use(&local);
    bool is_zero;
    return allocate_slow(life_, local, class_index, is_zero);
  }

  void deallocate(lab_type& local, void* block, bool& fast) {
    bool due = false;
    fast = policy::has_fast_path && try_deallocate(life_, local, block, due);
    if (!fast) return deallocate_slow(local, block);
    fast = !due;
    if (due) after_free(life_, local, *life_.arena.find(block));
  }

private:
  void deallocate_slow(lab_type& local, void* block) {
    span_type* const span = life_.arena.find(block);
    const typename policy::use in_use(&local);
    if (!list_again(life_, local, block)) send_home(life_, local, *span, block);
  }

  scalloc::span_life<traits> life_;
  scalloc::lab_registry<traits> labs_;
};

}  // namespace heaplab::coherence
