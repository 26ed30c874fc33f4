// Which thread has which local allocation buffer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "allocators/scalloc/frontend.h"
#include "allocators/scalloc/lab.h"
#include "base/os_pages.h"
#include "concurrent/futex_lock.h"

namespace heaplab::scalloc {

// Buffers are made when there are more threads than ever before, and never unmade: a thread that ends leaves
// its buffer, empty, to the next one.
template <class Traits>
class lab_registry {
  using lab_type = lab<Traits>;
  static constexpr bool shared = Traits::settings.shared_labs;

public:
  // For the thread `self`. Null: no memory.
  lab_type* attach(std::size_t columns, std::uintptr_t self) {
    const concurrent::lock_holder hold(lock_);
    const std::uint32_t number = threads_started_++;
    lab_type* const it = shared ? find_shared(number % columns) : take_idle();
    if (it == nullptr) return nullptr;
    if (!shared) it->column = number;
    it->identity = shared ? reinterpret_cast<std::uintptr_t>(it) : self;
    ++it->threads;
    it->adopts = true;
    return it;
  }

  // By the thread that has the buffer and uses it no more.
  void detach(frontend<Traits>& front, lab_type& it) {
    const concurrent::lock_holder hold(lock_);
    if (--it.threads > 0) return;
    if (shared) it.use_lock.lock();
    abandon(front, it);
    if (shared) it.use_lock.unlock();
  }

  // Of all threads only the one that has `survivor` (or none) is left. Whatever another was changing can be
  // told from what it had changed last: a list that is torn, from the words of the spans; which buffers are
  // idle, from which there are. In front of a buffer's free lists it stopped where a block may be lost, never
  // given twice.
  void after_fork_in_child(frontend<Traits>& front, const lab_type* survivor) {
    lock_.forget_holder();
    front.expect_lost_counts();
    bool torn = front.forget_torn_lists(front.orphanage());
    for (lab_type* it = known_; it != nullptr; it = it->next_known) torn |= front.forget_torn_lists(*it);
    if (torn) front.refill_torn_lists();
    forget_holders(front.orphanage());
    for (lab_type* it = known_; it != nullptr; it = it->next_known) forget_holders(*it);
    idle_ = nullptr;
    for (lab_type* it = known_; it != nullptr; it = it->next_known) {
      it->threads = it == survivor ? 1 : 0;
      if (it != survivor) abandon(front, *it);
    }
  }

private:
  static void forget_holders(lab_type& it) {
    it.lists_lock.forget_holder();
    it.use_lock.forget_holder();
  }

  void abandon(frontend<Traits>& front, lab_type& it) {
    it.adopts = false;
    front.abandon(it);
    if (shared) return;
    it.next_idle = idle_;
    idle_ = &it;
  }

  lab_type* take_idle() {
    if (idle_ == nullptr) return make();
    lab_type* const it = idle_;
    idle_ = it->next_idle;
    return it;
  }

  // The buffer of a CPU. Idle or not, it stays where it is known.
  lab_type* find_shared(std::size_t column) {
    for (lab_type* it = known_; it != nullptr; it = it->next_known)
      if (it->column == column) return it;
    lab_type* const it = make();
    if (it != nullptr) it->column = static_cast<std::uint32_t>(column);
    return it;
  }

  lab_type* make() {
    constexpr std::size_t bytes = align_up(sizeof(lab_type), os_pages::page_bytes);
    void* const place = Traits::platform::allocate(bytes, os_pages::page_bytes);
    if (place == nullptr) return nullptr;
    lab_type* const it = new (place) lab_type;
    it->next_known = known_;
    // A child of fork finds every buffer that is known whole.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    known_ = it;
    return it;
  }

  concurrent::futex_lock<typename Traits::sync> lock_;
  std::uint32_t threads_started_ = 0;
  lab_type* idle_ = nullptr;
  lab_type* known_ = nullptr;
};

}  // namespace heaplab::scalloc
