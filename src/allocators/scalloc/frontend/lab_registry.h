// Which thread has which local allocation buffer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "allocators/scalloc/frontend/end_of_thread.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/frontend/lab_policy.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "base/os_pages.h"
#include "concurrent/futex_lock.h"

namespace heaplab::scalloc {

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
