#pragma once

#include <cstdint>

#include "allocators/scalloc/policy/config.h"
#include "base/atomic.h"
#include "base/narrow.h"
#include "concurrent/helper_post.h"

namespace heaplab::scalloc {

// Gives retained memory back where no thread of the program comes by to do it: by a helper, a thread that is
// started where much memory is retained and ends when little is left.
//
// The helper holds no lock while it sleeps or makes a system call. Where the system refuses a thread, memory
// is retained until a thread of the program allocates or frees. So it is in a child of vfork, which uses its
// parent's heap: a helper of the child would end with the child, in the middle of its work.
template <class Traits>
class idle_purge {
  using platform = typename Traits::platform;
  using thread = typename platform::thread;
  static constexpr const config& settings = Traits::settings;

public:
  // In a program that is never idle a helper makes room for a new one after so long: a user, rights and
  // namespaces which the program gave up meanwhile are those of its threads, not of threads that exist
  // already. Shorter costs a thread more often, some tens of microseconds each.
  static constexpr std::int64_t helper_milliseconds = 500;

  // Called in a new process, before every other function, and again without effect.
  void begin_process() {
    if (process_ != 0) return;
    process_ = platform::process_number();
    first_thread_ = platform::this_thread();
  }

  // Called before the program changes the processors of a thread, which may be the first.
  void note_processors() {
    std::uint32_t seen = unknown;
    if (!noted_.compare_exchange_strong(seen, being_noted, std::memory_order_relaxed,
                                        std::memory_order_relaxed))
      return;
    processors_ = platform::processors(process_);
    noted_.store(noted, std::memory_order_release);  // pairs with processors()
  }

  // Called where at least idle_purge_bytes are retained. Starts a thread that calls `helper` with the
  // helper's number, which it must pass to serve, unless there is a helper. False: there is none, and memory
  // is not purged.
  bool ask(typename thread::body helper) {
    const bool had_helper = has_helper();
    if (post_.looks_vacant() && !may_start()) return had_helper;
    const auto number = post_.ask();
    if (!number) return true;
    if (threads_[*number % places].start(helper, argument_of(*number), processors())) {
      // The former helper need not sleep on before it leaves.
      if (had_helper) platform::wake(&is_urgent_);
      return true;
    }
    refused_until_.store(platform::milliseconds() + settings.decay_milliseconds, std::memory_order_relaxed);
    post_.dismiss(*number);
    return false;
  }

  // A hint, in one load.
  bool has_helper() const { return post_.is_held(); }

  // There is work that should not wait: the helper purges at once.
  void hurry() {
    if (is_urgent_.exchange(1, std::memory_order_release) == 0) platform::wake(&is_urgent_);
  }

  // Called by the helper. Purges again and again, each time after as many ms as work.wait() tells or in a
  // hurry, until work.purge() returns that little is left or another helper is there.
  template <class Work>
  void serve(void* argument, Work&& work) {
    const std::uint32_t number = number_of(argument);
    const std::int64_t begin = platform::milliseconds();
    for (;;) {
      platform::wait(&is_urgent_, 0, work.wait());
      // acquire pairs with hurry: the work is visible.
      const bool is_urgent = is_urgent_.exchange(0, std::memory_order_acquire) != 0;
      if (post_.is_relieved(number)) return is_urgent ? hurry() : void();
      if (platform::milliseconds() - begin >= helper_milliseconds) post_.offer(number);
      if (!work.purge() && post_.try_resign(number)) return;
    }
  }

  void after_fork_in_child() {
    for (thread& helper : threads_) helper.forget();
    post_.after_fork_in_child();
    process_ = 0;
    noted_.store(unknown, std::memory_order_relaxed);
    begin_process();
  }

private:
  using processor_set = decltype(platform::processors(0));
  static constexpr unsigned places = 4;
  enum : std::uint32_t { unknown, being_noted, noted };

  // Those of the first thread of the process: as they were before the program changed any, if it did so by
  // sched_setaffinity, else as they are. Asked for as late as can be, because a filter may kill whoever asks.
  // A helper that the first thread starts has its processors without asking.
  processor_set processors() const {
    if (noted_.load(std::memory_order_acquire) == noted) return processors_;
    return platform::this_thread() == first_thread_ ? processor_set() : platform::processors(process_);
  }

  static void* argument_of(std::uint32_t number) { return reinterpret_cast<void*>(std::uintptr_t{number}); }
  static std::uint32_t number_of(void* argument) {
    return narrow<std::uint32_t>(reinterpret_cast<std::uintptr_t>(argument));
  }

  // A helper that has offered its post goes on until the one before it has left.
  bool may_start() const {
    return threads_[post_.next_number() % places].has_ended() &&
           platform::milliseconds() >= refused_until_.load(std::memory_order_relaxed) &&
           platform::process_number() == process_;
  }

  concurrent::helper_post<typename Traits::sync> post_;
  // relaxed: a helper starts a little earlier or later.
  typename Traits::template atomic<std::int64_t> refused_until_{0};  // ms
  // A futex: 0 or 1.
  typename Traits::template atomic<std::uint32_t> is_urgent_{0};
  // Of consecutive helpers: former ones may still be leaving.
  thread threads_[places];
  // Constant in a process.
  std::int32_t process_ = 0;
  const void* first_thread_ = nullptr;
  processor_set processors_ = {};
  typename Traits::template atomic<std::uint32_t> noted_{unknown};
};

}  // namespace heaplab::scalloc
