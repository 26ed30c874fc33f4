// Pairs of threads: one allocates, the other frees, and a bounded queue of batches connects them. The usual
// form of the producer-consumer workload of Berger et al., Hoard (ASPLOS 2000).
#include <memory>
#include <vector>

#include "base/atomic.h"
#include "workloads/producer_consumer/hand_over.h"

namespace {

using namespace heaplab;

class producer_consumer final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"producer_consumer", "pairs of threads: one allocates batches of objects, the other frees them",
            "producer_consumer --pairs 1 --objects 100k --batch 100"};
  }

  void declare(harness::option_table& options) override {
    options.count("pairs", pairs_, {1, 512}, "Pairs of a producer and a consumer");
    harness::declare_objects(options, objects_, 10'000'000'000);
    sizes_.declare(options, {1, std::uint64_t{1} << 26});
    harness::declare_batch(options, batch_, 1'000'000);
    harness::declare_queue(options, queue_);
  }

  void check(const harness::option_table&) override {
    sizes_.check();
    harness::require_memory(pairs_ * queue_ * batch_ * sizes_.most, "--queue batches of --max-size bytes");
  }

  harness::size_mix sizes() const override { return sizes_; }

  void run(harness::measurement& measured) override {
    for (unsigned pair = 0; pair < pairs_; ++pair)
      queues_.push_back(std::make_unique<object_queue>(queue_, batch_));
    threads_ = 2 * pairs_;
    run_team(measured);
    // relaxed: the consumers have been joined.
    const std::uint64_t freed = freed_.load(std::memory_order_relaxed);
    measured.add_metric("pairs", static_cast<double>(freed), "1");
    measured.verify(freed == pairs_ * objects_, "every object was freed by a consumer");
  }

private:
  // Even threads produce, odd threads consume.
  void run(unsigned thread) override {
    object_queue& queue = *queues_[thread / 2];
    harness::random_stream random(measured_->seed(), thread);
    measured_->with_heap(thread, [&](auto& heap) {
      if (thread % 2 == 0) {
        produce(heap, queue, objects_, sizes_, random);
        queue.close();
      } else {
        freed_.fetch_add(consume(heap, queue), std::memory_order_relaxed);
      }
    });
  }

  std::uint64_t pairs_ = 1;
  std::uint64_t objects_ = 2'000'000;
  harness::size_mix sizes_{16, 512};
  std::uint64_t batch_ = 100;
  std::uint64_t queue_ = 16;
  std::vector<std::unique_ptr<object_queue>> queues_;
  atomic<std::uint64_t> freed_{0};  // objects freed; written by consumers, read after they have been joined
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<producer_consumer>(argc, argv);
}
