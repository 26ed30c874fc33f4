// Which thread has which local allocation buffer: the two arrangements of the paper, and the second with
// caches that take no lock; the registry, which keeps under its lock what they need to remember; and what a
// thread leaves when it ends or trims: hot spans, listed blocks, batches.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "allocators/scalloc/frontend/freeing.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/frontend/returned_blocks.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "base/narrow.h"
#include "base/os_pages.h"
#include "concurrent/futex_lock.h"

namespace heaplab::scalloc {

// Thread-local (TLAB): each thread has a buffer of its own and takes no lock to use the buffer. A thread that
// ends leaves its buffer, empty, to the next thread. Where there are many threads, further ones have lists of
// their own alone, and share the spans of a home, one for each column.
template <class Traits>
class thread_local_labs {
  using lab_type = lab<Traits>;

public:
  static constexpr bool has_fast_path = true;
  // In the child of a fork the buffer of the surviving thread is as that thread left it.
  static constexpr bool survivor_is_whole = true;

  // What an operation holds while it uses a buffer.
  struct use {
    explicit use(lab_type*) {}
  };

  // The buffer for a new thread. Null: no memory for a new one. A buffer keeps its column of the span-pool:
  // so living threads have different columns as long as there are enough, and a thread that follows another
  // finds the spans that the other left.
  template <class Make>
  lab_type* choose(std::uint32_t thread, std::size_t columns, lab_type*, Make&& make) {
    const std::size_t most_own = config.own_spans_per_column * columns;
    lab_type* home = nullptr;
    if (most_own > 0 && living_ >= most_own) {
      home = home_of(narrow<std::uint32_t>(thread % columns), make);
      if (home == nullptr) return nullptr;
    }
    lab_type* lab = idle_;
    if (lab != nullptr)
      idle_ = lab->next_idle;
    else if (lab = make(); lab != nullptr)
      lab->column = made_++;
    else
      return nullptr;
    ++living_;
    if constexpr (lab_type::has_lists)
      if (home != nullptr || lab->home != lab)
        lab->lists.share_limits(2 * most_own, std::max(living_, 2 * most_own));
    lab->home = home != nullptr ? home : lab;
    // The blocks of one span that threads share are for all of them.
    if constexpr (lab_type::has_lists) lab->lists.set_owner(lab->home->column);
    return lab;
  }

  // No thread uses the buffer any more.
  void put_back(lab_type& lab) {
    if (living_ > 0) --living_;
    lab.next_idle = idle_;
    idle_ = &lab;
  }

  // In the child of a fork, whose other threads' buffers are put back then.
  void forget_idle() {
    idle_ = nullptr;
    living_ = 0;
  }

private:
  static constexpr const scalloc::config& config = Traits::config;

  // The home of a column; null: no memory.
  template <class Make>
  lab_type* home_of(std::uint32_t column, Make&& make) {
    lab_type*& home = homes_[column];
    if (home != nullptr) return home;
    home = make();
    if (home == nullptr) return nullptr;
    home->column = column;
    home->is_shared = home->adopts = true;
    if constexpr (lab_type::has_lists) home->lists.set_owner(column);
    return home;
  }

  lab_type* idle_ = nullptr;
  std::uint32_t made_ = 0;
  // Threads that have a buffer.
  std::size_t living_ = 0;
  lab_type* homes_[config.pool_column_limit] = {};
};

// Core-local (CLAB): threads whose numbers are equal modulo the number of CPUs share one buffer, and take the
// buffer's lock for every operation. The buffer of a CPU stays, idle or not.
//
// With caches (calling_core.h) threads share the buffer of the CPU on which they run, and take its lock where
// the CPU's cache is empty or full.
template <class Traits>
class core_local_labs {
  using lab_type = lab<Traits>;
  static constexpr bool has_caches = Traits::config.core_caches;

public:
  static constexpr bool has_fast_path = false;
  // At a fork another thread may have been at work in the buffer of the thread that survives in the child.
  // With caches the surviving thread counts as having a buffer while it holds the lock.
  static constexpr bool survivor_is_whole = has_caches;

  enum class unless_held : bool { yes };

  // Holds the lock of a buffer while an operation uses the buffer. The thread may have no buffer: null.
  class use {
  public:
    explicit use(lab_type* lab) : lab_(lab) {
      if (lab_ != nullptr) lab_->use_lock.lock();
      hold(lab_);
    }
    // Does not wait: is_held() tells whether the thread holds the lock.
    use(lab_type& lab, unless_held) : lab_(lab.use_lock.try_lock() ? &lab : nullptr) { hold(lab_); }
    ~use() {
      if (lab_ == nullptr) return;
      hold(nullptr);
      lab_->use_lock.unlock();
    }
    use(const use&) = delete;
    use& operator=(const use&) = delete;

    bool is_held() const { return lab_ != nullptr; }
    // Null: the calling thread uses no buffer.
    static lab_type* held_by_thread() { return held_; }

  private:
    // In this order, because a signal handler may fork here: a lock that held_ names is held.
    static void hold(lab_type* lab) {
      if constexpr (!has_caches) return;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      held_ = lab;
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    static constinit inline thread_local lab_type* held_ = nullptr;
    lab_type* const lab_;
  };

  template <class Make>
  lab_type* choose(std::uint32_t thread, std::size_t columns, lab_type* known, Make&& make) {
    const auto column = narrow<std::uint32_t>(thread % columns);
    for (lab_type* lab = known; lab != nullptr; lab = lab->next_known)
      if (lab->column == column) return lab;
    lab_type* const lab = make();
    if (lab == nullptr) return nullptr;
    lab->column = column;
    if constexpr (lab_type::has_lists) lab->lists.set_owner(column);
    return lab;
  }

  // With caches buffers stay what they are when threads end.
  void put_back(lab_type& lab) { lab.adopts |= has_caches; }
  void forget_idle() {}
};

template <class Traits>
using lab_policy = std::conditional_t<Traits::config.shared_labs || Traits::config.core_caches,
                                      core_local_labs<Traits>, thread_local_labs<Traits>>;

// Hands all spans of `local` to the orphanage, and empty spans to the pool.
template <class Traits>
void abandon(span_life<Traits>& life, lab<Traits>& local) {
  if constexpr (Traits::config.hardened) {
    returned_blocks back(life, local);
    local.quarantine.drain_all(
        [&](void* block) { back.add(life.arena.fine_span_of(block), freed_block{block}); });
  }
  if constexpr (lab<Traits>::has_lists) flush_lists(life, local);
  retire_own_hot_spans(life, local);
  while (life.abandon_some(local)) continue;
}

// The buffer has no listed block and its home no hot span any more, so that others may give back what is
// free in them. Called by the owner.
template <class Traits>
void retire_hot_spans(span_life<Traits>& life, lab<Traits>& local) {
  if constexpr (lab<Traits>::has_lists) flush_lists(life, local);
  const home_use<Traits> in(local);
  retire_own_hot_spans(life, in.home);
}

template <class Traits>
void retire_own_hot_spans(span_life<Traits>& life, lab<Traits>& local) {
  for (span<Traits>*& hot : local.hot) {
    if (hot == &no_span<Traits>) continue;
    life.retire(local, *hot);
    hot = &no_span<Traits>;
  }
}

// A buffer is made when no existing buffer will do for a thread, and never unmade.
template <class Traits>
class lab_registry {
  using lab_type = lab<Traits>;
  using policy = lab_policy<Traits>;

public:
  // The buffer for the calling thread, whose number is that of the threads before it unless given. Null: no
  // memory. Pages for a new buffer are mapped without the lock; a child of fork loses those of another
  // thread.
  lab_type* attach(std::size_t columns, std::optional<std::uint32_t> number = {}) {
    lab_type* fresh = nullptr;
    lab_type* lab;
    while ((lab = try_attach(columns, number, fresh)) == nullptr) {
      void* const pages = Traits::platform::allocate(lab_bytes(), os_pages::page_bytes());
      if (pages == nullptr) return nullptr;
      fresh = new (pages) lab_type;
    }
    if (fresh != nullptr) Traits::platform::unmap(fresh, lab_bytes());
    return lab;
  }

  // Called by the thread of the buffer, when it uses the buffer for the last time. A buffer of one thread is
  // emptied without the lock: nobody else gets the buffer before it is put back.
  void detach(span_life<Traits>& life, lab_type& lab) {
    if constexpr (policy::has_fast_path) {
      empty(life, lab);
      const concurrent::lock_holder hold(lock_);
      lab.threads = 0;
      policy_.put_back(lab);
    } else {
      const concurrent::lock_holder hold(lock_);
      if (--lab.threads > 0) return;
      const typename policy::use in_use(&lab);
      empty(life, lab);
    }
  }

  // In the child of fork only the thread that has `survivor` (null: no buffer) is left. The repair rests on
  // what the vanished threads changed last: the lists of a buffer are rebuilt from the words of the spans,
  // the idle buffers are found among the known ones. A thread that stood between a buffer's free list and its
  // count may have lost a block; no block is handed out twice.
  void after_fork_in_child(span_life<Traits>& life, const lab_type* survivor) {
    lock_.forget_holder();
    life.expect_lost_counts();
    bool torn = life.forget_torn_lists(life.orphanage);
    for (lab_type* lab = known_; lab != nullptr; lab = lab->next_known) torn |= life.forget_torn_lists(*lab);
    if (torn) life.refill_torn_lists();
    forget_holders(life.orphanage);
    // A signal may have interrupted a malloc of the surviving thread, which goes on with its own buffer, and
    // with its home.
    const auto goes_on = [&](const lab_type* lab) {
      const bool is_in_use = survivor != nullptr && survivor->is_at_home && lab == survivor->home;
      return policy::survivor_is_whole && (lab == survivor || is_in_use);
    };
    for (lab_type* lab = known_; lab != nullptr; lab = lab->next_known) forget_holders(*lab, goes_on(lab));
    life.repair_hot_spans(life.orphanage);
    for (lab_type* lab = known_; lab != nullptr; lab = lab->next_known)
      if (!goes_on(lab)) life.repair_hot_spans(*lab);
    policy_.forget_idle();
    for (lab_type* lab = known_; lab != nullptr; lab = lab->next_known) {
      if (lab->is_shared) continue;
      lab->threads = lab == survivor ? 1 : 0;
      if (lab == survivor) continue;
      // Blocks of its lists go home as another thread's do: the survivor may hold the lock of that home.
      lab->home = lab;
      lab->is_at_home = false;
      empty(life, *lab);
      policy_.put_back(*lab);
    }
  }

  // Calls visit(class, number of listed blocks of a buffer), with numbers of a moment ago.
  template <class Visit>
  void for_each_listed(Visit&& visit) {
    const concurrent::lock_holder hold(lock_);
    for (const lab_type* lab = known_; lab != nullptr; lab = lab->next_known)
      for (unsigned index = 0; index < Traits::classes::count; ++index)
        if (const std::uint32_t count = lab->lists.count(index); count > 0) visit(index, count);
  }

private:
  static void forget_holders(lab_type& lab, bool goes_on = false) {
    lab.lists_lock.forget_holder();
    if (!goes_on) lab.use_lock.forget_holder();
  }

  static void empty(span_life<Traits>& life, lab_type& lab) {
    lab.adopts = false;
    abandon(life, lab);
  }

  static std::size_t lab_bytes() { return align_up(sizeof(lab_type), os_pages::page_bytes()); }

  // Null: `fresh` is needed and null. Where `fresh` becomes the thread's buffer, `fresh` is null afterwards.
  lab_type* try_attach(std::size_t columns, std::optional<std::uint32_t> number, lab_type*& fresh) {
    const concurrent::lock_holder hold(lock_);
    lab_type* const lab = policy_.choose(number.value_or(threads_started_), columns, known_,
                                         [&] { return make_known(std::exchange(fresh, nullptr)); });
    if (lab == nullptr) return nullptr;
    ++threads_started_;
    // Threads that have the buffer already read this without the registry's lock.
    if (lab->threads++ == 0) lab->adopts = true;
    return lab;
  }

  lab_type* make_known(lab_type* lab) {
    if (lab == nullptr) return nullptr;
    lab->next_known = known_;
    // A child of fork finds every known buffer whole.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    known_ = lab;
    return lab;
  }

  concurrent::futex_lock<typename Traits::sync> lock_;
  std::uint32_t threads_started_ = 0;
  policy policy_;
  lab_type* known_ = nullptr;
};

}  // namespace heaplab::scalloc
