#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/atomic.h"
#include "workloads/blowup/live_total.h"
#include "workloads/harness/harness.h"

namespace heaplab {

// A pool of threads that share objects and become fewer. Each replaces objects at random places, so that most
// blocks are freed by another thread than allocated them. All threads are there in the first phase, a quarter
// in the second, and one of 32 in the third; every phase replaces as many objects.
class shrinking_pool {
public:
  shrinking_pool(harness::measurement& measured, live_total& live, std::uint64_t threads,
                 const harness::size_mix& sizes, std::uint64_t live_bytes, std::uint64_t rounds)
      : measured_(measured),
        live_(live),
        threads_(threads),
        sizes_(sizes),
        limit_(static_cast<std::int64_t>(live_bytes)),
        rounds_(rounds),
        places_(1, live_bytes / mean_of(sizes, measured.seed())) {}

  // The life of one thread of the pool.
  void live(unsigned thread) {
    harness::random_stream random(measured_.seed(), thread);
    measured_.with_heap(thread, [&](auto& heap) {
      for (const std::uint64_t share : {1, 4, 32}) {
        const std::uint64_t team = std::max<std::uint64_t>(threads_ / share, 1);
        if (thread >= team) return;
        for (std::uint64_t left = rounds_ * places_[0].size() / team; left > 0; --left) replace(heap, random);
      }
    });
  }

  // Called when no thread of the pool is left.
  void release_all() {
    harness::plain_heap heap;
    for (place& slot : places_[0])
      if (slot.object.start != nullptr) release(heap, slot);
  }

private:
  struct place {
    heaplab::atomic<bool> taken{false};
    harness::block object{};
  };

  template <class Heap>
  void replace(Heap& heap, harness::random_stream& random) {
    place& slot = places_[0][random.below(places_[0].size())];
    // acquire pairs with the release below: the thread sees the object that another has put here.
    if (slot.taken.exchange(true, std::memory_order_acquire)) return;
    if (slot.object.start != nullptr) release(heap, slot);
    const std::uint64_t bytes = sizes_.logarithmic(random);
    if (live_.add(static_cast<std::int64_t>(bytes), limit_))
      slot.object = harness::allocate_stamped(heap, bytes, stamp_of(slot));
    slot.taken.store(false, std::memory_order_release);
  }

  template <class Heap>
  void release(Heap& heap, place& slot) {
    live_.add(-static_cast<std::int64_t>(slot.object.bytes));
    harness::release_stamped(heap, std::exchange(slot.object, {}), stamp_of(slot));
  }

  static std::uint64_t mean_of(const harness::size_mix& sizes, std::uint64_t seed) {
    constexpr std::uint64_t draws = 10'000;
    harness::random_stream random(seed);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < draws; ++i) sum += sizes.logarithmic(random);
    return sum / draws;
  }

  std::uint8_t stamp_of(const place& slot) const {
    return harness::stamp_of(static_cast<std::uint64_t>(&slot - places_[0].data()));
  }

  harness::measurement& measured_;
  live_total& live_;
  std::uint64_t threads_;
  harness::size_mix sizes_;
  std::int64_t limit_;
  std::uint64_t rounds_;
  harness::thread_arrays<place> places_;
};

}  // namespace heaplab
