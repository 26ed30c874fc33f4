// The other mode of ACDC (paper section 4.6): in each round one thread allocates a small object for every
// thread, each thread writes to its object many times, and one thread frees all objects. If two objects share
// a cache line, the line travels between the processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/atomic.h"
#include "probes/off_heap_pages.h"
#include "probes/thread_team.h"
#include "probes/tick_clock.h"
#include "workloads/acdc/mutator.h"

namespace heaplab::acdc {

// The objects of a round, which threads pass to each other.
struct shared_round {
  shared_round(const configuration& settings)
      : pages(probes::off_heap_pages::needed<std::byte*>(settings.threads)),
        objects(pages.array<std::byte*>(settings.threads)),
        meeting(static_cast<unsigned>(settings.threads)) {}

  probes::off_heap_pages pages;
  std::span<std::byte*> objects;  // by thread; the barrier publishes them
  probes::barrier meeting;
};

template <class Heap>
class false_sharer {
public:
  false_sharer(common_ground& common, shared_round& shared, unsigned thread, std::uint64_t seed, Heap& heap)
      : common_(common),
        settings_(common.settings),
        round_(shared),
        self_(common.threads[thread]),
        heap_(heap),
        thread_(thread),
        agreed_(seed, settings_.threads) {}

  void run() {
    for (std::uint64_t round = 0; round < settings_.ticks; ++round) play(round);
  }

private:
  // All threads draw the same random numbers, so that each knows without communication who allocates and who
  // frees.
  void play(std::uint64_t round) {
    const std::uint64_t giver = agreed_.below(settings_.threads);
    const std::uint64_t taker = agreed_.below(settings_.threads);
    const std::uint64_t size = agreed_.between(settings_.min_size, settings_.max_size);
    if (thread_ == giver) allocate(size);
    round_.meeting.wait();
    const std::uint64_t begin = probes::read_ticks();
    write_often(round_.objects[thread_]);
    self_.access.add(begin, probes::read_ticks());
    round_.meeting.wait();
    expect_intact(round_.objects[thread_]);
    if (thread_ == 0) common_.memory.sample(round, common_.live_bytes());
    round_.meeting.wait();
    if (thread_ == taker) release(size, giver != taker);
    round_.meeting.wait();
  }

  void allocate(std::uint64_t size) {
    const std::size_t cell = where_.cell(size);
    const std::size_t all = cell * round_.objects.size();
    const std::uint64_t begin = probes::read_ticks();
    if (where_.one_block) {
      auto* const block = static_cast<std::byte*>(
          where_.alignment == 1 ? heap_.allocate(all) : heap_.allocate_aligned(where_.alignment, all));
      for (std::size_t i = 0; i < round_.objects.size(); ++i) round_.objects[i] = block + i * cell;
    } else {
      for (std::byte*& object : round_.objects) object = static_cast<std::byte*>(heap_.allocate(size));
    }
    self_.allocation.add(begin, probes::read_ticks());
    self_.total.allocated({.first = nullptr, .count = round_.objects.size(), .size = size});
  }

  void release(std::uint64_t size, bool remotely) {
    const std::uint64_t begin = probes::read_ticks();
    if (where_.one_block) {
      heap_.release(round_.objects[0]);
    } else {
      for (std::byte* const object : round_.objects) heap_.release(object);
    }
    self_.deallocation.add(begin, probes::read_ticks());
    self_.total.freed({.first = nullptr, .count = round_.objects.size(), .size = size}, remotely);
  }

  using shared_byte = atomic_ref<unsigned char>;

  static shared_byte byte_of(std::byte* object, std::size_t index) {
    return shared_byte(*reinterpret_cast<unsigned char*>(object + index));
  }
  // A thread's byte value. Threads whose numbers differ by a multiple of 256 have the same value.
  unsigned char mark() const { return static_cast<unsigned char>(thread_); }

  // Reads the first byte and writes the second.
  void write_often(std::byte* object) const {
    const shared_byte source = byte_of(object, 0);
    const shared_byte target = byte_of(object, 1);
    source.store(mark(), std::memory_order_relaxed);
    for (std::uint64_t i = 0; i < settings_.time_quantum; ++i)
      target.store(source.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

  void expect_intact(std::byte* object) const {
    for (const std::size_t index : {0U, 1U})
      if (byte_of(object, index).load(std::memory_order_relaxed) != mark())
        give_up("self-check failed: an object was written by somebody else");
  }

  common_ground& common_;
  const configuration& settings_;
  shared_round& round_;
  thread_state& self_;
  Heap& heap_;
  unsigned thread_;
  harness::random_stream agreed_;
  placement where_{settings_.pseudo_allocator};
};

}  // namespace heaplab::acdc
