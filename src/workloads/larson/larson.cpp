// A server: each thread replaces random objects of its slice; after some rounds the thread hands the slice to
// a new thread and ends. After Larson and Krishnan, Memory allocation for long-running server applications
// (ISMM 1998).
#include <semaphore.h>

#include <utility>

#include "base/atomic.h"
#include "workloads/harness/harness.h"
#include "workloads/harness/short_threads.h"

namespace {

using namespace heaplab;

class larson final : public harness::workload {
public:
  harness::description describe() const override {
    return {"larson", "random replacement in slices of objects that threads hand to their successors",
            "larson --threads 2 --duration 1s --replacements-per-object 100"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_);
    options.duration("duration", duration_, {0.01, 3600}, "Time until the threads stop");
    sizes_.declare(options, {1, std::uint64_t{1} << 26}, harness::upper_end::excluded);
    harness::declare_live_objects(options, objects_, {1, 20'000'000});
    options.count("replacements-per-object", rounds_, {1, 1'000'000'000},
                  "A thread ends after this many replacements for each object it holds");
  }

  void check(const harness::option_table&) override {
    if (sizes_.least >= sizes_.most)
      throw harness::usage_error("--min-size must be below --size-limit, which itself is never requested");
    harness::require_memory(threads_ * objects_ * sizes_.most, "--live-objects in all --threads");
  }

  harness::size_mix sizes() const override { return {sizes_.least, sizes_.most - 1}; }

  void run(harness::measurement& measured) override {
    measured_ = &measured;
    measured.prepare_threads(static_cast<unsigned>(threads_));
    measured.age_heap(0);
    tables_ = harness::thread_arrays<harness::block>(threads_, objects_);
    slices_ = harness::thread_arrays<slice>(threads_, 1);
    warm_up();
    sem_init(&ended_, 0, 0);
    sem_init(&go_, 0, 0);
    for (unsigned i = 0; i < threads_; ++i) {
      slices_[i].front().init(*this, i, tables_[i], measured.seed());
      harness::start_detached_thread(first_thread, &slices_[i].front());
    }
    measured.start();
    for (unsigned i = 0; i < threads_; ++i) sem_post(&go_);
    wait_for_the_end();
    seconds_ = measured.elapsed();
    measured.stop();
    report(measured);
    release_all();
  }

private:
  // The objects that one thread hands to the next.
  struct slice {
    void init(larson& program, unsigned index, std::span<harness::block> all, std::uint64_t seed) {
      work = &program;
      number = index;
      objects = all;
      random = harness::random_stream(seed + 1, index);
    }

    larson* work = nullptr;
    unsigned number = 0;
    std::span<harness::block> objects;
    harness::random_stream random{0};
    std::uint64_t replaced = 0;
    std::uint64_t threads = 0;
    bool refused = false;  // a successor could not be started
  };

  // The main thread allocates all objects, shuffles them, and replaces each about four times.
  void warm_up() {
    harness::plain_heap heap;
    harness::random_stream random(measured_->seed());
    const std::uint64_t all = threads_ * objects_;
    for (std::uint64_t i = 0; i < all; ++i) place(i) = allocate(heap, random, harness::stamp_of(i));
    for (std::uint64_t i = all; i > 1; --i) exchange(i - 1, random.below(i));
    for (std::uint64_t i = 0; i < 4 * all; ++i) {
      const std::uint64_t victim = random.below(all);
      replace(heap, place(victim), random, harness::stamp_of(victim));
    }
  }

  harness::block& place(std::uint64_t i) { return tables_[i / objects_][i % objects_]; }

  // The stamp of an object is that of its place, so both objects are stamped again.
  void exchange(std::uint64_t first, std::uint64_t second) {
    std::swap(place(first), place(second));
    harness::write_stamp(place(first), harness::stamp_of(first));
    harness::write_stamp(place(second), harness::stamp_of(second));
  }

  template <class Heap>
  harness::block allocate(Heap& heap, harness::random_stream& random, std::uint8_t stamp) const {
    return harness::allocate_stamped(heap, random.between(sizes_.least, sizes_.most - 1), stamp);
  }

  template <class Heap>
  void replace(Heap& heap, harness::block& victim, harness::random_stream& random, std::uint8_t stamp) const {
    harness::release_stamped(heap, victim, stamp);
    victim = allocate(heap, random, stamp);
  }

  static void* first_thread(void* argument) {
    sem_wait(&static_cast<slice*>(argument)->work->go_);
    return next_thread(argument);
  }

  static void* next_thread(void* argument) {
    slice& own = *static_cast<slice*>(argument);
    own.work->work_on(own);
    return nullptr;
  }

  void work_on(slice& own) {
    ++own.threads;
    measured_->with_heap(own.number, [&](auto& heap) {
      const std::uint64_t most = rounds_ * objects_;
      for (std::uint64_t i = 0; i < most && !stop_.load(std::memory_order_relaxed); ++i) {
        const std::uint64_t at = own.random.below(objects_);
        replace(heap, own.objects[at], own.random, harness::stamp_of(own.number * objects_ + at));
        ++own.replaced;
      }
    });
    if (stop_.load(std::memory_order_relaxed) || !start_successor(own)) sem_post(&ended_);
  }

  // True if the successor was started. The successor then owns the slice: it may already have ended and the
  // slice be gone.
  static bool start_successor(slice& own) {
    try {
      harness::start_detached_thread(next_thread, &own);
      return true;
    } catch (const harness::run_error&) {
      own.refused = true;
      return false;
    }
  }

  void wait_for_the_end() {
    harness::sleep_for(duration_);
    stop_.store(true, std::memory_order_relaxed);
    for (unsigned i = 0; i < threads_; ++i) sem_wait(&ended_);
  }

  void report(harness::measurement& measured) {
    std::uint64_t replaced = 0;
    std::uint64_t threads = 0;
    double live = 0;
    for (unsigned i = 0; i < threads_; ++i) {
      const slice& mine = slices_[i].front();
      measured.verify(!mine.refused, "every thread could start its successor");
      replaced += mine.replaced;
      threads += mine.threads;
      for (const harness::block& object : mine.objects) live += static_cast<double>(object.bytes);
    }
    measured.add_metric("pairs", static_cast<double>(replaced), "1");
    measured.add_metric("throughput", static_cast<double>(replaced) / seconds_, "1/s");
    measured.add_metric("threads_started", static_cast<double>(threads), "1");
    measured.add_metric("live_memory", live, "B");
  }

  void release_all() {
    harness::plain_heap heap;
    for (std::uint64_t i = 0; i < threads_ * objects_; ++i)
      harness::release_stamped(heap, place(i), harness::stamp_of(i));
  }

  std::uint64_t threads_ = 1;
  double duration_ = 2;
  harness::size_mix sizes_{7, 8};
  std::uint64_t objects_ = 1000;
  std::uint64_t rounds_ = 10'000;
  harness::thread_arrays<harness::block> tables_;
  harness::thread_arrays<slice> slices_;
  sem_t go_;
  sem_t ended_;
  // Written by the main thread, read by all. relaxed throughout: the flag publishes nothing but itself.
  atomic<bool> stop_{false};
  double seconds_ = 0;
  harness::measurement* measured_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<larson>(argc, argv);
}
