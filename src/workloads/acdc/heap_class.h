#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assertion.h"
#include "probes/off_heap_pages.h"
#include "workloads/acdc/class_plan.h"
#include "workloads/acdc/lifetime_class.h"

namespace heaplab::acdc {

// Figure 4: the lifetime-classes of one thread by their time of expiry, the permanent class, and the thread's
// clock. With a longest liveness L and a delay D, a ring of L + D classes suffices: a class inserted at time
// t expires between t + 1 and t + L + D, and the class that expires at t is removed before another is
// inserted.
class heap_class {
public:
  heap_class(probes::off_heap_pages& pages, std::uint64_t max_liveness, std::uint64_t delay)
      : ring_(pages.array<lifetime_class>(ring_size(max_liveness, delay))),
        max_liveness_(max_liveness),
        delay_(delay) {}

  static std::size_t ring_size(std::uint64_t max_liveness, std::uint64_t delay) {
    return max_liveness + delay;
  }

  std::uint64_t time() const { return time_; }
  void advance() { ++time_; }

  void insert(lifetime_class others, std::uint64_t liveness) {
    HEAPLAB_ASSERT(liveness == permanent || (0 < liveness && liveness <= max_liveness_));
    (liveness == permanent ? permanent_ : expiring_at(time_ + liveness + delay_)).append(others);
  }

  lifetime_class take_expired() { return expiring_at(time_).take_all(); }

  // Calls visit(lifetime_size_class&) for every class in use. Classes that only wait for their deallocation
  // are left out.
  template <class Visit>
  void for_each_live(Visit visit) {
    for (std::uint64_t ahead = 0; ahead < max_liveness_; ++ahead)
      for_each(expiring_at(time_ + delay_ + ahead), visit);
    for_each(permanent_, visit);
  }

  // Removes and returns everything, whatever its time of expiry.
  lifetime_class take_rest() {
    lifetime_class rest = permanent_.take_all();
    for (lifetime_class& members : ring_) rest.append(members.take_all());
    return rest;
  }

private:
  template <class Visit>
  static void for_each(const lifetime_class& all, Visit& visit) {
    for (holding* node = all.first; node != nullptr; node = node->next) visit(*node->held);
  }

  lifetime_class& expiring_at(std::uint64_t time) { return ring_[time % ring_.size()]; }

  std::span<lifetime_class> ring_;
  lifetime_class permanent_;
  std::uint64_t max_liveness_;
  std::uint64_t delay_;
  std::uint64_t time_ = 0;
};

}  // namespace heaplab::acdc
