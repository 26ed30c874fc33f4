#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "probes/off_heap_pages.h"
#include "workloads/acdc/class_plan.h"
#include "workloads/acdc/estimate.h"
#include "workloads/acdc/heap_class.h"
#include "workloads/acdc/lifetime_class.h"
#include "workloads/acdc/record_pool.h"
#include "workloads/acdc/write_pacer.h"
#include "workloads/harness/random_stream.h"

namespace heaplab::acdc {

// Ticks of the clock spent in an activity, and the number of measured stretches.
struct stretches {
  std::uint64_t ticks = 0;
  std::uint64_t count = 0;

  void add(std::uint64_t begin, std::uint64_t end) {
    ticks += end - begin;
    ++count;
  }
  void add(const stretches& other) {
    ticks += other.ticks;
    count += other.count;
  }
};

// Written by the thread itself. Thread 0 reads the bytes at the same time; a slightly old value is good
// enough.
struct turnover {
  atomic<std::uint64_t> allocated_bytes{0};
  atomic<std::uint64_t> freed_bytes{0};
  std::uint64_t allocated_objects = 0;
  std::uint64_t freed_objects = 0;
  std::uint64_t remotely_freed_objects = 0;  // that another thread had allocated

  void allocated(const object_set& set) {
    add(allocated_bytes, set.bytes());
    allocated_objects += set.count;
  }
  void freed(const object_set& set, bool remotely) {
    add(freed_bytes, set.bytes());
    freed_objects += set.count;
    if (remotely) remotely_freed_objects += set.count;
  }
  std::uint64_t live_bytes() const {
    return allocated_bytes.load(std::memory_order_relaxed) - freed_bytes.load(std::memory_order_relaxed);
  }

private:
  static void add(atomic<std::uint64_t>& sum, std::uint64_t bytes) {
    sum.store(sum.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
};

// The state of one thread, outside the heap under test.
struct alignas(cache_line_bytes) thread_state {
  thread_state(const configuration& settings, const estimate& expected, std::uint64_t seed, unsigned thread)
      : pages(bytes_needed(settings)),
        plans(settings, seed, thread),
        heap(pages, settings.max_liveness, settings.deallocation_delay),
        classes(static_cast<std::size_t>(expected.live_classes)),
        holdings(static_cast<std::size_t>(expected.live_holdings)),
        others(pages.array<std::uint32_t>(settings.threads - 1)),
        objects_by_liveness(pages.array<std::uint64_t>(settings.max_liveness + 1)),
        pacer(settings.write_access_ratio),
        order_draw(seed, settings.threads + thread),
        key_step(thread) {
    for (std::uint32_t i = 0; i < others.size(); ++i) others[i] = i < thread ? i : i + 1;
  }

  static std::size_t bytes_needed(const configuration& settings) {
    using probes::off_heap_pages;
    return off_heap_pages::needed<lifetime_class>(
               heap_class::ring_size(settings.max_liveness, settings.deallocation_delay)) +
           off_heap_pages::needed<std::uint32_t>(settings.threads) +
           off_heap_pages::needed<std::uint64_t>(settings.max_liveness + 1);
  }

  // The key of the next class: only the upper 16 bits are set (object_set.h), and successive keys differ.
  std::uint64_t next_key() {
    key_step += 0x9e37;
    return key_step << 48;
  }

  // Chooses `count` different other threads at random. The result is valid until the next call.
  std::span<const std::uint32_t> choose_others(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      std::swap(others[i], others[i + plans.random().below(others.size() - i)]);
    return others.first(count);
  }

  probes::off_heap_pages pages;
  plan_source plans;
  heap_class heap;
  record_pool<lifetime_size_class> classes;
  record_pool<holding> holdings;
  std::span<std::uint32_t> others;  // the numbers of the other threads, in any order
  std::span<std::uint64_t> objects_by_liveness;
  std::array<std::uint64_t, 64> objects_by_log2_size{};
  write_pacer pacer;
  harness::random_stream order_draw;  // of its own, so that plans are the same whatever the order
  std::uint64_t key_step;
  lifetime_class outbox;  // classes to be shared at the end of the tick
  stretches allocation;
  stretches deallocation;
  stretches access;
  alignas(cache_line_bytes) turnover total;
};

}  // namespace heaplab::acdc
