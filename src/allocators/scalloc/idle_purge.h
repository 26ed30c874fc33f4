#pragma once

#include <cstdint>

#include "allocators/scalloc/config.h"
#include "base/atomic.h"
#include "concurrent/helper_post.h"

namespace heaplab::scalloc {

// Gives retained memory back where no thread of the program comes by to do it: by a helper, a thread that is
// started where much memory is retained and ends when little is left.
//
// The helper holds no lock while it sleeps or makes a system call. Where the system refuses a thread, memory
// is retained until a thread of the program allocates or frees.
template <class Traits>
class idle_purge {
  using platform = typename Traits::platform;
  using thread = typename platform::thread;
  static constexpr const config& settings = Traits::settings;

public:
  // Called where at least idle_purge_bytes are retained. Starts a thread that calls `helper` with the
  // helper's number, which it must pass to serve, unless there is a helper. False: the system refuses a
  // thread, and memory is not purged.
  bool ask(typename thread::body helper) {
    if (post_.looks_vacant() && platform::milliseconds() < refused_until_.load(std::memory_order_relaxed))
      return false;
    const auto number = post_.ask();
    if (!number || threads_[*number % 2].start(helper, argument_of(*number))) return true;
    refused_until_.store(platform::milliseconds() + settings.decay_milliseconds, std::memory_order_relaxed);
    post_.dismiss(*number);
    return false;
  }

  // A hint, in one load.
  bool has_helper() const { return post_.is_held(); }

  // Called by the helper. Purges again and again, each time after as many ms as work.wait() tells, until
  // work.purge() returns that little is left or another helper is there.
  template <class Work>
  void serve(void* argument, Work&& work) {
    const std::uint32_t number = number_of(argument);
    for (unsigned round = 1;; ++round) {
      platform::sleep(work.wait());
      if (post_.is_relieved(number)) return;
      if (round % settings.idle_purge_rounds == 0) post_.offer(number);
      if (!work.purge() && post_.try_resign(number)) return;
    }
  }

  void after_fork_in_child() {
    for (thread& it : threads_) it.forget();
    post_.after_fork_in_child();
  }

private:
  static void* argument_of(std::uint32_t number) { return reinterpret_cast<void*>(std::uintptr_t{number}); }
  static std::uint32_t number_of(void* argument) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(argument));
  }

  concurrent::helper_post<typename Traits::sync> post_;
  // relaxed: a helper starts a little earlier or later.
  typename Traits::template atomic<std::int64_t> refused_until_{0};  // ms
  // Of consecutive helpers, one of which may still be leaving.
  thread threads_[2];
};

}  // namespace heaplab::scalloc
