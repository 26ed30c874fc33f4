// Which threads use one local allocation buffer (lab.h): the two arrangements of the paper.
//
// The registry keeps what a policy needs to remember, under the registry's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "allocators/scalloc/frontend/lab.h"
#include "concurrent/futex_lock.h"

namespace heaplab::scalloc {

// Thread-local (TLAB): each thread has a buffer of its own and takes no lock to use the buffer. A thread that
// ends leaves its buffer, empty, to the next thread.
template <class Traits>
class thread_local_labs {
  using lab_type = lab<Traits>;

public:
  static constexpr bool has_fast_path = true;

  // What an operation holds while it uses a buffer.
  struct use {
    explicit use(lab_type*) {}
  };

  // The buffer for a new thread. Null: no memory for a new one. A buffer keeps its column of the span-pool:
  // so living threads have different columns as long as there are enough, and a thread that follows another
  // finds the spans that the other left.
  template <class Make>
  lab_type* choose(std::uint32_t, std::size_t, lab_type*, Make&& make) {
    if (idle_ != nullptr) return take_idle();
    lab_type* const it = make();
    if (it != nullptr) it->column = made_++;
    return it;
  }

  // No thread uses the buffer any more.
  void put_back(lab_type& it) {
    it.next_idle = idle_;
    idle_ = &it;
  }

  void forget_idle() { idle_ = nullptr; }

private:
  lab_type* take_idle() {
    lab_type* const it = idle_;
    idle_ = it->next_idle;
    return it;
  }

  lab_type* idle_ = nullptr;
  std::uint32_t made_ = 0;
};

// Core-local (CLAB): threads whose numbers are equal modulo the number of CPUs share one buffer, and take the
// buffer's lock for every operation. The buffer of a CPU stays, idle or not.
template <class Traits>
class core_local_labs {
  using lab_type = lab<Traits>;

public:
  static constexpr bool has_fast_path = false;

  // Holds the lock of a buffer while an operation uses the buffer. The thread may have no buffer: null.
  class use {
  public:
    explicit use(lab_type* it) : it_(it) {
      if (it_ != nullptr) it_->use_lock.lock();
    }
    ~use() {
      if (it_ != nullptr) it_->use_lock.unlock();
    }
    use(const use&) = delete;
    use& operator=(const use&) = delete;

  private:
    lab_type* const it_;
  };

  template <class Make>
  lab_type* choose(std::uint32_t thread, std::size_t columns, lab_type* known, Make&& make) {
    const auto column = static_cast<std::uint32_t>(thread % columns);
    for (lab_type* it = known; it != nullptr; it = it->next_known)
      if (it->column == column) return it;
    lab_type* const it = make();
    if (it != nullptr) it->column = column;
    return it;
  }

  void put_back(lab_type&) {}
  void forget_idle() {}
};

template <class Traits>
using lab_policy =
    std::conditional_t<Traits::settings.shared_labs, core_local_labs<Traits>, thread_local_labs<Traits>>;

}  // namespace heaplab::scalloc
