// One thread of ACDC (paper section 2).
#pragma once

#include "base/assertion.h"
#include "base/bits.h"
#include "probes/thread_team.h"
#include "probes/tick_clock.h"
#include "workloads/acdc/accounts.h"
#include "workloads/acdc/distribution_pool.h"
#include "workloads/acdc/list_order.h"
#include "workloads/acdc/memory_log.h"
#include "workloads/acdc/placed_array.h"
#include "workloads/acdc/thread_state.h"

namespace heaplab::acdc {

// The state that all threads share.
struct common_ground {
  const configuration& settings;
  placed_array<thread_state>& threads;
  distribution_pool& pool;
  probes::barrier& drift_barrier;
  memory_log& memory;
  accounts& books;

  std::uint64_t live_bytes() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < threads.size(); ++i) sum += threads[i].total.live_bytes();
    return sum;
  }
};

// Removes one holder of a lifetime-size-class; true for the last holder.
inline bool let_go(lifetime_size_class& held) {
  HEAPLAB_ASSERT(held.holders.load(std::memory_order_relaxed) > 0);
  // acq_rel: the last holder sees the writes of all earlier holders.
  return held.holders.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

template <class Heap>
class mutator {
public:
  mutator(common_ground& common, unsigned thread, Heap& heap)
      : common_(common),
        settings_(common.settings),
        self_(common.threads[thread]),
        heap_(heap),
        thread_(thread) {}

  // Runs until the thread's logical clock reaches the configured number of ticks.
  void run() {
    while (self_.heap.time() < settings_.ticks) tick();
  }

  // Frees everything that this thread still holds or has been sent. Not part of the measured time.
  void free_rest() {
    collect();
    release(self_.heap.take_rest());
  }

private:
  // The clock advances when a quantum has been allocated; bytes beyond the quantum are not carried over. Then
  // the thread shares, accesses and deallocates.
  //
  // Whoever shares at that moment begins the lifetime of what it made with the tick, and the receivers at
  // their next tick: the maker is hardly ever the last to let go. A thread that shares each class when it is
  // made lets all begin in the middle of some tick, so that each is the last as often as the others.
  void tick() {
    for (std::uint64_t allocated = 0; allocated < settings_.time_quantum;) {
      allocated += allocate();
      if (settings_.shares_each_class) share();
      if (settings_.historic) access();
    }
    if (thread_ == 0) common_.memory.sample(self_.heap.time(), common_.live_bytes());
    share();
    self_.heap.advance();
    if (!settings_.historic) access();
    const std::uint64_t begin = probes::read_ticks();
    const lifetime_class expired = free_objects(self_.heap.take_expired());
    self_.deallocation.add(begin, probes::read_ticks());
    put_back(expired);
    if (thread_ == 0) common_.books.note(self_.heap.time(), self_.total);
    if (self_.heap.time() % settings_.max_time_drift == 0 && settings_.threads > 1)
      common_.drift_barrier.wait();
  }

  // Allocates one lifetime-size-class and returns its bytes.
  std::uint64_t allocate() {
    const class_plan plan = self_.plans.next();
    lifetime_size_class* const made = self_.classes.take();
    made->liveness = plan.liveness;
    made->maker = thread_;
    made->objects = {.first = nullptr,
                     .count = plan.count,
                     .size = plan.size,
                     .key = self_.next_key(),
                     .shape = plan.shape};
    const std::uint64_t begin = probes::read_ticks();
    allocate_objects(heap_, made->objects, where_);
    self_.allocation.add(begin, probes::read_ticks());
    reorder(made->objects, settings_.list_order, self_.order_draw);
    self_.total.allocated(made->objects);
    self_.objects_by_liveness[plan.liveness] += plan.count;
    self_.objects_by_log2_size[log2_floor(plan.size)] += plan.count;
    holding* const own = hold(*made);
    if (plan.shared) {
      self_.outbox.add(own);
    } else {
      lifetime_class single;
      single.add(own);
      self_.heap.insert(single, plan.liveness);
    }
    return plan.bytes();
  }

  holding* hold(lifetime_size_class& held) {
    holding* const node = self_.holdings.take();
    node->held = &held;
    return node;
  }

  // Gives each class in the outbox to its receivers, which include this thread, and takes the classes that
  // other threads have given to this thread.
  void share() {
    if (!settings_.shared_objects) return;
    const unsigned receivers = receiving_threads(settings_);
    for (holding* node = self_.outbox.take_all().first; node != nullptr;) {
      holding* const next = node->next;
      lifetime_size_class& shared = *node->held;
      // relaxed: the lock of the pool publishes the count.
      shared.holders.store(receivers + 1, std::memory_order_relaxed);
      common_.pool.put(thread_, node);
      for (const std::uint32_t other : self_.choose_others(receivers)) common_.pool.put(other, hold(shared));
      node = next;
    }
    collect();
  }

  void collect() {
    common_.pool.collect(
        thread_, [this](lifetime_class some, std::uint64_t liveness) { self_.heap.insert(some, liveness); });
  }

  void access() {
    if (!settings_.access_live_objects) return;
    const std::uint64_t begin = probes::read_ticks();
    self_.heap.for_each_live([this](const lifetime_size_class& live) {
      access_objects(live.objects, self_.pacer, settings_.write_iterations);
    });
    self_.access.add(begin, probes::read_ticks());
  }

  // Frees the objects whose last holder this thread is. Holdings of objects that other threads still hold
  // come back with `held` empty.
  lifetime_class free_objects(lifetime_class expired) {
    for (holding* node = expired.first; node != nullptr; node = node->next) {
      if (let_go(*node->held))
        release_objects(heap_, node->held->objects, where_);
      else
        node->held = nullptr;
    }
    return expired;
  }

  void put_back(lifetime_class expired) {
    for (holding* node = expired.first; node != nullptr;) {
      holding* const next = node->next;
      if (node->held != nullptr) {
        self_.total.freed(node->held->objects, node->held->maker != thread_);
        self_.classes.put(node->held);
      }
      self_.holdings.put(node);
      node = next;
    }
  }

  void release(lifetime_class all) { put_back(free_objects(all)); }

  common_ground& common_;
  const configuration& settings_;
  thread_state& self_;
  Heap& heap_;
  unsigned thread_;
  placement where_{settings_.pseudo_allocator};
};

}  // namespace heaplab::acdc
