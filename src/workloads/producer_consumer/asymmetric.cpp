// Some threads only allocate, the others only free, and any consumer may receive a batch of any producer.
// After the xmalloc-test of mimalloc-bench.
#include "base/atomic.h"
#include "workloads/producer_consumer/hand_over.h"

namespace {

using namespace heaplab;

class asymmetric final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"asymmetric", "threads that only allocate and threads that only free, over one queue of batches",
            "asymmetric --producers 1 --consumers 3 --total-objects 100k"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_producers(options, producers_, 512);
    options.count("consumers", consumers_, {1, 512}, "Threads that free");
    options.count("total-objects", objects_, {1, 10'000'000'000},
                  "Objects of all, divided among the producers");
    sizes_.declare(options, {1, std::uint64_t{1} << 26});
    harness::declare_batch(options, batch_, 1'000'000);
    harness::declare_queue(options, queue_);
  }

  void check(const harness::option_table&) override {
    sizes_.check();
    if (objects_ < producers_)
      throw harness::usage_error("--total-objects must not be fewer than --producers");
    harness::require_memory(queue_ * batch_ * ((sizes_.least + sizes_.most) / 2),
                            "--queue batches of --max-size bytes");
  }

  harness::size_mix sizes() const override { return sizes_; }

  void run(harness::measurement& measured) override {
    object_queue queue(queue_, batch_);
    shared_ = &queue;
    // relaxed: the threads start later.
    producing_.store(producers_, std::memory_order_relaxed);
    threads_ = producers_ + consumers_;
    run_team(measured);
    // relaxed: the consumers have been joined.
    const std::uint64_t freed = freed_.load(std::memory_order_relaxed);
    measured.add_metric("pairs", static_cast<double>(freed), "1");
    measured.verify(freed == objects_ / producers_ * producers_, "every object was freed by a consumer");
  }

private:
  void run(unsigned thread) override {
    harness::random_stream random(measured_->seed(), thread);
    measured_->with_heap(thread, [&](auto& heap) {
      if (thread < producers_) {
        produce(heap, *shared_, objects_ / producers_, sizes_, random);
        // acq_rel pairs with itself: the last producer closes the queue after all other producers have sent
        // their objects.
        if (producing_.fetch_sub(1, std::memory_order_acq_rel) == 1) shared_->close();
      } else {
        freed_.fetch_add(consume(heap, *shared_), std::memory_order_relaxed);
      }
    });
  }

  std::uint64_t producers_ = 1;
  std::uint64_t consumers_ = 3;
  std::uint64_t objects_ = 2'000'000;
  harness::size_mix sizes_{8, 2048};
  std::uint64_t batch_ = 4096;
  std::uint64_t queue_ = 16;
  object_queue* shared_ = nullptr;
  atomic<std::uint64_t> producing_{0};  // number of producers that have not sent everything yet
  // objects freed; written by consumers, read after they have been joined
  atomic<std::uint64_t> freed_{0};
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<asymmetric>(argc, argv);
}
