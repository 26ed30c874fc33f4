#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/frontend/free_lists.h"
#include "allocators/scalloc/hardened/quarantine.h"
#include "allocators/scalloc/hardened/random_source.h"
#include "allocators/scalloc/policy/config.h"
#include "allocators/scalloc/spans/span.h"
#include "base/cache_line.h"
#include "base/compiler.h"
#include "concurrent/checked_deque.h"
#include "concurrent/elided_lock.h"
#include "concurrent/futex_lock.h"

namespace heaplab::scalloc {

// Stands for the hot span of a class that has none: it has no blocks and no owner, and is never written.
template <class Traits>
inline constinit span<Traits> no_span;

// A local allocation buffer, the paper's LAB (section 5): what others call a thread cache. For each size
// class it has a hot span, from which it allocates, and lists of the spans that are not hot. One thread owns
// the buffer, or several threads share it and take use_lock for every operation (lab_registry.h).
template <class Traits>
struct alignas(cache_line_bytes) lab {
  using sync = typename Traits::sync;
  using span_type = span<Traits>;
  static constexpr unsigned class_count = Traits::classes::count, any_class = class_count;

  // Whether free blocks wait outside their spans, in lists or in the stacks of CPUs, and have marks.
  static constexpr bool has_lists = Traits::config.most_cached > 0;
  // Owner only.
  [[no_unique_address]] part_if<has_lists, free_lists<Traits>> lists;
  // The buffer whose spans fill these lists, and take blocks of them back: the buffer itself, or a shared one
  // (home_use). Owner only, as is whether the owner is at work there, which a child of fork asks.
  lab* home = this;
  bool shares_home() const { return Traits::config.own_spans_per_column > 0 && home != this; }
  bool is_at_home = false;
  // Whether the buffer is the home of several threads. Constant.
  bool is_shared = false;
  // One for each class. Owner only.
  span_type* hot[class_count];

  // lists_lock guards the lists below, the hooks of the spans in them, and the owner of every span of this
  // buffer. Lock order: use_lock, then the thread's own lists_lock, then the lists_lock of the orphanage.
  alignas(cache_line_bytes) concurrent::elided_lock<sync> lists_lock;
  concurrent::futex_lock<sync> use_lock;
  // Whether the buffer adopts orphans. True while the buffer belongs to a living thread.
  bool adopts = false;
  // Which column of the span-pool its spans go to.
  std::uint32_t column = 0;
  // Used by the registry, under its lock.
  std::uint32_t threads = 0;
  lab* next_idle = nullptr;
  lab* next_known = nullptr;

  concurrent::checked_deque<sync, span_type> floating[class_count];
  concurrent::checked_deque<sync, span_type> reusable[class_count];
  // Of all classes: spans whose holes are being purged (hole_sweep.h).
  concurrent::checked_deque<sync, span_type> purging;

  // How each class was when the thread last looked at it, and the class it looks at next (abandon_idle).
  // Owner only.
  std::uint32_t last_seen[class_count] = {};
  unsigned class_to_look_at = 0;

  // Of spans that lost blocks by frees of this buffer's thread, since it last asked for a sweep. Owner only.
  std::size_t emptied_bytes = 0;

  // Owner only. Of a hardened heap.
  static constexpr bool hardened = Traits::config.hardened;
  [[no_unique_address]] part_if<hardened, random_source<typename Traits::platform>> random;
  // A freed block of the fine zone is used again after so many further frees by the same thread at the
  // earliest. More detects late frees of freed blocks, and pins up to twice as many spans for each thread.
  static constexpr std::size_t quarantine_blocks = 32;
  [[no_unique_address]] part_if<hardened, scalloc::quarantine<quarantine_blocks>> quarantine;

  // Whether the lists are whole and hold only spans of this buffer. Called by the holder of lists_lock. Walks
  // the lists.
  bool is_valid() const {
    const auto holds_own = [this](const auto& list, unsigned index) {
      for (const span_type* span = list.oldest(); span != nullptr; span = span->hook.newer)
        if (span->owner(std::memory_order_relaxed) != this ||
            (index != any_class && span->class_index.load(std::memory_order_relaxed) != index))
          return false;
      return true;
    };
    if (!purging.is_valid() || !holds_own(purging, any_class)) return false;
    for (unsigned index = 0; index < class_count; ++index)
      for (const auto* const list : {&floating[index], &reusable[index]})
        if (!list->is_valid() || !holds_own(*list, index)) return false;
    return true;
  }

  constexpr lab() {
    for (span_type*& each : hot) each = &no_span<Traits>;
  }
};

// While a thread uses the spans of its buffer's home. Those of a shared home are its owner's for as long as
// the thread holds the home's use_lock.
template <class Traits>
class home_use {
public:
  lab<Traits>& home;

  explicit home_use(lab<Traits>& local)
      : home(local.shares_home() ? *local.home : local), guest_(local.shares_home() ? &local : nullptr) {
    if (guest_ != nullptr) [[unlikely]]
      enter(*guest_);
  }
  ~home_use() {
    if (guest_ != nullptr) [[unlikely]]
      leave(*guest_);
  }
  home_use(const home_use&) = delete;
  home_use& operator=(const home_use&) = delete;

private:
  // A signal handler that forks finds the lock held before is_at_home says so.
  HEAPLAB_OUT_OF_LINE static void enter(lab<Traits>& guest) {
    guest.home->use_lock.lock();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    guest.is_at_home = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  HEAPLAB_OUT_OF_LINE static void leave(lab<Traits>& guest) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    guest.is_at_home = false;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    guest.home->use_lock.unlock();
  }

  lab<Traits>* const guest_;  // null: the home is the thread's own
};

}  // namespace heaplab::scalloc
