// Threads that live for a few hundred objects. Each thread creates its thread heap, frees most of its
// objects, leaves the rest to the thread that started it, and ends. The allocator must find and reuse the
// memory of ended threads.
#include <utility>

#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

class thread_churn final : public harness::team_workload {
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
    objects_of_ = harness::thread_arrays<harness::block>(threads_, objects_);
    run_team(measured);
    measured.add_metric("lives", static_cast<double>(threads_ * lives_), "1");
    measured.add_metric("pairs", static_cast<double>(threads_ * lives_ * objects_), "1");
  }

private:
  void run(unsigned thread) override {
    harness::random_stream random(measured_->seed(), thread);
    const auto child = [&] { live(thread, random); };
    for (std::uint64_t i = 0; i < lives_ && run_in_thread(child); ++i)
      measured_->with_heap(thread, [&](auto& heap) { release(heap, thread, 100, random); });
  }

  void live(unsigned parent, harness::random_stream& random) {
    measured_->with_heap(parent, [&](auto& heap) {
      const std::span<harness::block> all = objects_of_[parent];
      for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = harness::allocate_stamped(heap, sizes_.logarithmic(random), harness::stamp_of(i));
      release(heap, parent, 100 - left_, random);
    });
  }

  template <class Heap>
  void release(Heap& heap, unsigned thread, double percent, harness::random_stream& random) {
    const std::span<harness::block> all = objects_of_[thread];
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].start == nullptr || !random.chance(percent)) continue;
      harness::release_stamped(heap, std::exchange(all[i], {}), harness::stamp_of(i));
    }
  }

  std::uint64_t lives_ = 2000;
  std::uint64_t objects_ = 500;
  harness::size_mix sizes_{16, 4096};
  double left_ = 10;
  harness::thread_arrays<harness::block> objects_of_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<thread_churn>(argc, argv);
}
