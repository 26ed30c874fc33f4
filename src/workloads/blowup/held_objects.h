#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/assertion.h"
#include "workloads/blowup/pattern.h"

namespace heaplab::blowup {

// The objects that each thread of the team holds, stamped, with an account of the bytes alive.
class held_objects {
public:
  // Room for `most` objects in each thread, which together hold at most `live` bytes.
  held_objects(const run_context& context, std::uint64_t live, std::uint64_t most)
      : live_(live),
        threads_(static_cast<unsigned>(context.asked.threads)),
        total_(context.total),
        objects_(context.asked.threads, most),
        accounts_(context.asked.threads, 1) {}

  // Places for as many objects as fit into `live` bytes at the smallest size.
  held_objects(const run_context& context, std::uint64_t live)
      : held_objects(context, live, live / context.asked.sizes.least) {}

  std::span<harness::block> of(unsigned thread) const { return objects_[thread]; }

  bool has_room(unsigned thread, std::uint64_t bytes) const {
    return accounts_[thread].front().live + bytes <= live_;
  }

  // Allocates objects of this size as long as there is room.
  template <class Heap>
  void fill(Heap& heap, unsigned thread, std::uint64_t bytes) {
    while (has_room(thread, bytes)) add(heap, thread, bytes);
    tell(thread);
  }

  // Allocates an object behind those that the thread holds.
  template <class Heap>
  void add(Heap& heap, unsigned thread, std::uint64_t bytes) {
    put(heap, thread, accounts_[thread].front().held++, bytes);
  }

  // Allocates an object in a free place.
  template <class Heap>
  void put(Heap& heap, unsigned thread, std::size_t place, std::uint64_t bytes) {
    const std::uint8_t stamp = harness::stamp_of(place);
    HEAPLAB_ASSERT(place < objects_[thread].size());
    harness::block& fresh = objects_[thread][place];
    HEAPLAB_ASSERT(fresh.start == nullptr);
    fresh = harness::allocate_stamped(heap, bytes, stamp);
    fill_pages(fresh, stamp);
    count(thread, static_cast<std::int64_t>(bytes));
  }

  template <class Heap>
  void release(Heap& heap, unsigned thread, std::size_t place) {
    const harness::block gone = std::exchange(objects_[thread][place], {});
    HEAPLAB_ASSERT(gone.start != nullptr && gone.bytes <= accounts_[thread].front().live);
    count(thread, -static_cast<std::int64_t>(gone.bytes));
    harness::release_stamped(heap, gone, harness::stamp_of(place));
  }

  // Frees the objects that came since the last call, but for those that stay for good; stays(i) says whether
  // number i of them does.
  template <class Heap, class Stays>
  void empty(Heap& heap, unsigned thread, Stays&& stays) {
    account& own = accounts_[thread].front();
    own.staying = free_from(heap, thread, own.staying, stays);
  }

  template <class Heap>
  void empty(Heap& heap, unsigned thread) {
    free_from(heap, thread, 0, [](std::size_t) { return false; });
  }

  void empty_all() {
    harness::plain_heap heap;
    for (unsigned thread = 0; thread < threads_; ++thread) empty(heap, thread);
  }

  // Tells the total what the thread has not told yet.
  void tell(unsigned thread) { total_.add(std::exchange(accounts_[thread].front().untold, 0)); }

private:
  struct account {
    std::size_t held = 0;
    std::size_t staying = 0;  // the first of those held, which stay for good
    std::uint64_t live = 0;
    std::int64_t untold = 0;  // by how much `live` has changed since the total was told
  };

  // Frees the objects from number `first` on for which stays(number - first) is false, and moves the others
  // together. Returns how many objects there are.
  template <class Heap, class Stays>
  std::size_t free_from(Heap& heap, unsigned thread, std::size_t first, Stays&& stays) {
    account& own = accounts_[thread].front();
    const std::span<harness::block> all = objects_[thread];
    std::size_t kept = first;
    for (std::size_t i = first; i < own.held; ++i) {
      if (!stays(i - first)) {
        release(heap, thread, i);
        continue;
      }
      harness::expect_stamp(all[i], harness::stamp_of(i));
      harness::write_stamp(all[i], harness::stamp_of(kept));
      all[kept++] = std::exchange(all[i], {});
    }
    tell(thread);
    return own.held = kept;
  }

  // Writes to every page of a large object, so that live bytes are resident.
  static void fill_pages(harness::block fresh, std::uint8_t stamp) {
    constexpr std::size_t page = 4096;
    for (std::size_t at = page; at < fresh.bytes; at += page)
      static_cast<std::uint8_t*>(fresh.start)[at] = stamp;
  }

  // Threads tell the total now and then, so that the account costs little time and misses little.
  void count(unsigned thread, std::int64_t change) {
    constexpr std::int64_t step = 64 << 10;
    account& own = accounts_[thread].front();
    own.live += static_cast<std::uint64_t>(change);
    own.untold += change;
    if (own.untold > step || own.untold < -step) tell(thread);
  }

  std::uint64_t live_;
  unsigned threads_;
  live_total& total_;
  harness::thread_arrays<harness::block> objects_;
  harness::thread_arrays<account> accounts_;
};

}  // namespace heaplab::blowup
