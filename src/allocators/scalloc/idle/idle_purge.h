#pragma once

#include <cstdint>

#include "allocators/scalloc/policy/config.h"
#include "base/atomic.h"
#include "base/narrow.h"
#include "concurrent/purge_thread_post.h"

namespace heaplab::scalloc {

// The background purge thread: started where much memory is retained, it purges what no thread of the program
// purges on the way, and ends when little is left.
//
// The purge thread holds no lock while it sleeps or makes a system call. Where the system refuses a thread,
// memory is retained until a thread of the program allocates or frees; so too in a child of vfork, which uses
// its parent's heap, where a purge thread would end with the child in the middle of a purge.
template <class Traits>
class idle_purge {
  using platform = typename Traits::platform;
  using thread = typename platform::thread;
  static constexpr const scalloc::config& config = Traits::config;

public:
  // After so long a purge thread is replaced, in a program that is never idle: it would keep the user, rights
  // and namespaces that the program's threads gave up meanwhile. Shorter starts a thread more often, which
  // takes some tens of microseconds.
  static constexpr std::int64_t tenure_milliseconds = 500;

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

  // Called where at least idle_purge_bytes are retained. Starts a purge thread, unless there is one: it calls
  // `serves` with its number, to be passed to serve(). False: there is no purge thread.
  bool ask(typename thread::body serves) {
    const bool had_thread = has_purge_thread();
    if (post_.looks_vacant() && !may_start()) return had_thread;
    const auto number = post_.ask();
    if (!number) return true;
    if (threads_[*number % places].start(serves, argument_of(*number), processors())) {
      // Wakes the former purge thread, which then leaves.
      if (had_thread) platform::wake(&is_urgent_);
      return true;
    }
    refused_until_.store(platform::milliseconds() + config.decay_milliseconds, std::memory_order_relaxed);
    post_.dismiss(*number);
    return false;
  }

  // A hint, in one load.
  bool has_purge_thread() const { return post_.is_held(); }

  // Has the purge thread purge at once.
  void hurry() {
    if (is_urgent_.exchange(1, std::memory_order_release) == 0) platform::wake(&is_urgent_);
  }

  // The work of a purge thread. Purges each time after as many ms as work.wait() tells, or after hurry(),
  // until work.purge() returns that little is left, or another purge thread is there.
  template <class Work>
  void serve(void* argument, Work&& work) {
    const std::uint32_t number = number_of(argument);
    const std::int64_t begin = platform::milliseconds();
    for (;;) {
      platform::wait(&is_urgent_, 0, work.wait());
      // acquire pairs with hurry: the work is visible.
      const bool is_urgent = is_urgent_.exchange(0, std::memory_order_acquire) != 0;
      if (post_.is_relieved(number)) return is_urgent ? hurry() : void();
      if (platform::milliseconds() - begin >= tenure_milliseconds) post_.offer(number);
      if (!work.purge() && post_.try_resign(number)) return;
    }
  }

  void after_fork_in_child() {
    for (thread& each : threads_) each.forget();
    post_.after_fork_in_child();
    process_ = 0;
    noted_.store(unknown, std::memory_order_relaxed);
    begin_process();
  }

private:
  using processor_set = decltype(platform::processors(0));
  static constexpr unsigned places = 4;
  enum : std::uint32_t { unknown, being_noted, noted };

  // The processors of the first thread of the process, from before the program changed any by
  // sched_setaffinity. Asked for as late as can be, because a filter may kill the thread that asks. A purge
  // thread that the first thread starts inherits these processors without a question.
  processor_set processors() const {
    if (noted_.load(std::memory_order_acquire) == noted) return processors_;
    return platform::this_thread() == first_thread_ ? processor_set() : platform::processors(process_);
  }

  static void* argument_of(std::uint32_t number) { return reinterpret_cast<void*>(std::uintptr_t{number}); }
  static std::uint32_t number_of(void* argument) {
    return narrow<std::uint32_t>(reinterpret_cast<std::uintptr_t>(argument));
  }

  // No new purge thread while the one that had its place before is leaving.
  bool may_start() const {
    return threads_[post_.next_number() % places].has_ended() &&
           platform::milliseconds() >= refused_until_.load(std::memory_order_relaxed) &&
           platform::process_number() == process_;
  }

  concurrent::purge_thread_post<typename Traits::sync> post_;
  // relaxed: a purge thread starts a little earlier or later.
  typename Traits::template atomic<std::int64_t> refused_until_{0};  // ms
  // A futex: 0 or 1.
  typename Traits::template atomic<std::uint32_t> is_urgent_{0};
  // By number modulo `places`: former purge threads may still be leaving.
  thread threads_[places];
  // Constant in a process.
  std::int32_t process_ = 0;
  const void* first_thread_ = nullptr;
  processor_set processors_ = {};
  typename Traits::template atomic<std::uint32_t> noted_{unknown};
};

}  // namespace heaplab::scalloc
