// One object at a time, freed at once after its allocation: the shortest path through an allocator. After
// Lever and Boreham, malloc() performance in a multithreaded Linux environment (USENIX 2000).
#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

class malloc_test final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"malloc_test", "pairs of malloc and free of one size, less the time of an empty loop",
            "malloc_test --threads 2 --call-pairs 1M"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_);
    options.count("call-pairs", pairs_, {1, 10'000'000'000}, "Pairs of malloc and free, in each thread");
    harness::declare_size(options, size_, std::uint64_t{1} << 30);
  }

  harness::size_mix sizes() const override { return {size_, size_}; }

  void run(harness::measurement& measured) override {
    seconds_ = harness::thread_arrays<double>(threads_, 1);
    guard_blocks_ = harness::thread_arrays<harness::guard_blocks>(threads_, 1);
    run_team(measured);
    const double all = static_cast<double>(threads_ * pairs_);
    measured.add_metric("pairs", all, "1");
    measured.add_metric("pair_time", seconds_.total() / all, "s");
    for (unsigned thread = 0; thread < threads_; ++thread) guard_blocks_[thread].front().release();
  }

private:
  // The same loop without a heap measures the cost of stamping.
  struct no_heap {
    void* allocate(std::size_t) const {
      asm volatile("" ::: "memory");
      return room;
    }
    void release(void*) const { asm volatile("" ::: "memory"); }
    void* room;
  };

  void prepare(unsigned thread) override { guard_blocks_[thread].front().allocate(size_); }

  void run(unsigned thread) override {
    harness::plain_heap whole;
    no_heap none{whole.allocate(size_)};
    const double empty = seconds_of_loop(none, thread);
    whole.release(none.room);
    measured_->with_heap(
        thread, [&](auto& heap) { seconds_[thread].front() = seconds_of_loop(heap, thread) - empty; });
  }

  template <class Heap>
  double seconds_of_loop(Heap& heap, std::uint64_t number) {
    const std::uint64_t begin = probes::read_ticks();
    for (std::uint64_t i = 0; i < pairs_; ++i) {
      const harness::block memory = harness::allocate_stamped(heap, size_, harness::stamp_of(number));
      harness::release_stamped(heap, memory, harness::stamp_of(number));
    }
    return measured_->clock().seconds(probes::read_ticks() - begin);
  }

  std::uint64_t pairs_ = 1'000'000;
  std::uint64_t size_ = 512;
  harness::thread_arrays<double> seconds_;
  harness::thread_arrays<harness::guard_blocks> guard_blocks_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<malloc_test>(argc, argv);
}
