// Which threads use one local allocation buffer (lab.h): the two arrangements of the paper, and the second
// with caches that take no lock.
//
// The registry keeps what a policy needs to remember, under the registry's lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "allocators/scalloc/frontend/lab.h"
#include "base/narrow.h"
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
    lab_type* const lab = idle_ != nullptr ? take_idle() : make_own(make);
    if (lab == nullptr) return nullptr;
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

  template <class Make>
  lab_type* make_own(Make&& make) {
    lab_type* const lab = make();
    if (lab != nullptr) lab->column = made_++;
    return lab;
  }

  lab_type* take_idle() {
    lab_type* const lab = idle_;
    idle_ = lab->next_idle;
    return lab;
  }

  lab_type* idle_ = nullptr;
  std::uint32_t made_ = 0;
  // Threads that have a buffer.
  std::size_t living_ = 0;
  lab_type* homes_[config.pool_column_limit] = {};
};

// Core-local (CLAB): threads whose numbers are equal modulo the number of CPUs share one buffer, and take the
// buffer's lock for every operation. The buffer of a CPU stays, idle or not.
template <class Traits>
class core_local_labs {
  using lab_type = lab<Traits>;

public:
  static constexpr bool has_fast_path = false;
  // At a fork another thread may have been at work in the buffer of the thread that survives in the child.
  static constexpr bool survivor_is_whole = false;

  // Holds the lock of a buffer while an operation uses the buffer. The thread may have no buffer: null.
  class use {
  public:
    explicit use(lab_type* lab) : lab_(lab) {
      if (lab_ != nullptr) lab_->use_lock.lock();
    }
    ~use() {
      if (lab_ != nullptr) lab_->use_lock.unlock();
    }
    use(const use&) = delete;
    use& operator=(const use&) = delete;

  private:
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

  void put_back(lab_type&) {}
  void forget_idle() {}
};

// Core-local with caches (calling_core.h): threads share the buffer of the CPU on which they run, and take
// its lock where the CPU's cache is empty or full.
template <class Traits>
class core_cached_labs : public core_local_labs<Traits> {
  using lab_type = lab<Traits>;

public:
  // The surviving thread counts as having a buffer while it holds the lock.
  static constexpr bool survivor_is_whole = true;

  enum class unless_held : bool { yes };

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
      std::atomic_signal_fence(std::memory_order_seq_cst);
      held_ = lab;
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    static constinit inline thread_local lab_type* held_ = nullptr;
    lab_type* const lab_;
  };

  // Buffers stay what they are when threads end.
  void put_back(lab_type& lab) { lab.adopts = true; }
};

template <class Traits>
using lab_policy = std::conditional_t<
    Traits::config.core_caches, core_cached_labs<Traits>,
    std::conditional_t<Traits::config.shared_labs, core_local_labs<Traits>, thread_local_labs<Traits>>>;

}  // namespace heaplab::scalloc
