// Threads that live for a few hundred objects. Each thread creates its thread heap, frees most of its
// objects, leaves the rest to the thread that started it, and ends. The allocator must find and reuse the
// memory of ended threads.
#include "workloads/harness/harness.h"
#include "workloads/harness/short_threads.h"

namespace {

using namespace heaplab;

class thread_churn final : public harness::workload, probes::team_task {
public:
  harness::description describe() const override {
    return {"thread_churn", "short-lived threads that leave some objects behind",
            "thread_churn --threads 2 --lives 200"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_, 512);
    harness::declare_lives(options, lives_);
    harness::declare_objects(options, objects_, 10'000'000);
    sizes_.declare(options, {1, std::uint64_t{1} << 26});
    options.percent("left", left_, "Objects left for the thread that started it to free");
  }

  void check(const harness::option_table&) override {
    sizes_.check();
    harness::require_memory(threads_ * objects_ * ((sizes_.least + sizes_.most) / 2),
                            "--objects of --min-size to --max-size bytes");
  }

  harness::size_mix sizes() const override { return sizes_; }

  void run(harness::measurement& measured) override {
    measured_ = &measured;
    objects_of_ = harness::thread_arrays<harness::block>(threads_, objects_);
    refused_ = harness::thread_arrays<bool>(threads_, 1);
    measured.run_team(static_cast<unsigned>(threads_), *this);
    for (unsigned thread = 0; thread < threads_; ++thread)
      measured.verify(!refused_[thread].front(), "every thread could be started");
    measured.add_metric("lives", static_cast<double>(threads_ * lives_), "1");
    measured.add_metric("pairs", static_cast<double>(threads_ * lives_ * objects_), "1");
  }

private:
  struct life {
    thread_churn* work;
    unsigned parent;
    harness::random_stream random;
  };

  void run(unsigned thread) override {
    life child{this, thread, harness::random_stream(measured_->seed(), thread)};
    try {
      for (std::uint64_t i = 0; i < lives_; ++i) {
        pthread_join(harness::start_thread(live, &child), nullptr);
        measured_->with_heap(thread, [&](auto& heap) { release(heap, thread, 100, child.random); });
      }
    } catch (const harness::run_error&) {
      refused_[thread].front() = true;
    }
  }

  static void* live(void* argument) {
    life& own = *static_cast<life*>(argument);
    thread_churn& work = *own.work;
    work.measured_->with_heap(own.parent, [&](auto& heap) {
      const std::span<harness::block> all = work.objects_of_[own.parent];
      for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = harness::allocate_stamped(heap, work.sizes_.logarithmic(own.random), harness::stamp_of(i));
      work.release(heap, own.parent, 100 - work.left_, own.random);
    });
    return nullptr;
  }

  template <class Heap>
  void release(Heap& heap, unsigned thread, double percent, harness::random_stream& random) {
    const std::span<harness::block> all = objects_of_[thread];
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].start == nullptr || !random.chance(percent)) continue;
      harness::release_stamped(heap, all[i], harness::stamp_of(i));
      all[i] = {};
    }
  }

  std::uint64_t threads_ = 1;
  std::uint64_t lives_ = 2000;
  std::uint64_t objects_ = 500;
  harness::size_mix sizes_{16, 4096};
  double left_ = 10;
  harness::thread_arrays<harness::block> objects_of_;
  harness::thread_arrays<bool> refused_;
  harness::measurement* measured_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  thread_churn work;
  return harness::run_program(work, argc, argv);
}
