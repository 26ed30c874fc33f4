// Each thread allocates its share of the objects, then frees them in the same order, again and again:
// perfectly thread-local work. After Berger et al., Hoard (ASPLOS 2000).
#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

class threadtest final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"threadtest", "rounds of equal objects, all allocated, then all freed, by the same thread",
            "threadtest --threads 2 --rounds 20 --size 64"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_);
    harness::declare_rounds(options, rounds_, 1'000'000'000);
    options.count("round-objects", objects_, {1, 100'000'000},
                  "Objects of a round, divided among the threads");
    harness::declare_size(options, size_, std::uint64_t{1} << 20);
    options.count("work", work_, {0, 1'000'000'000}, "Steps of other work after each allocation and free");
  }

  void check(const harness::option_table&) override {
    if (objects_ < threads_) throw harness::usage_error("--round-objects must not be fewer than --threads");
    harness::require_memory(objects_ * size_, "--round-objects of --size");
  }

  harness::size_mix sizes() const override { return {size_, size_}; }

  void run(harness::measurement& measured) override {
    const std::uint64_t each = objects_ / threads_;
    slots_ = harness::thread_arrays<void*>(threads_, each);
    run_team(measured);
    measured.add_metric("pairs", static_cast<double>(threads_ * each * rounds_), "1");
  }

private:
  void run(unsigned thread) override {
    const std::span<void*> slots = slots_[thread];
    measured_->with_heap(thread, [&](auto& heap) {
      for (std::uint64_t round = 0; round < rounds_; ++round) {
        for (std::size_t i = 0; i < slots.size(); ++i) {
          slots[i] = harness::allocate_stamped(heap, size_, harness::stamp_of(i + thread)).start;
          work();
        }
        for (std::size_t i = 0; i < slots.size(); ++i) {
          harness::release_stamped(heap, {slots[i], size_}, harness::stamp_of(i + thread));
          work();
        }
      }
    });
  }

  void work() const {
    for (std::uint64_t step = 0; step < work_; ++step) asm volatile("");
  }

  std::uint64_t rounds_ = 50;
  std::uint64_t objects_ = 30'000;
  std::uint64_t size_ = 8;
  std::uint64_t work_ = 0;
  harness::thread_arrays<void*> slots_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<threadtest>(argc, argv);
}
