// Memory: producers allocate objects that consumers free, and now and then the process examines its own
// address space. Not a test of speed, because the examination takes time. The card is
// catalog/workloads/memory.toml.
#include <memory>
#include <string>
#include <vector>

#include "workloads/harness/batch_queue.h"
#include "workloads/harness/harness.h"
#include "workloads/memory/memory_log.h"

namespace {

using namespace heaplab;
using memory::memory_log;

class memory_workload final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"memory", "memory over time while producers allocate and consumers free",
            "memory --producers 1 --consumers-per-producer 1 --objects-per-consumer 10k"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_producers(options, producers_, 256);
    options.count("consumers-per-producer", consumers_, {1, 256},
                  "Threads that free, for each that allocates");
    options.count("objects-per-consumer", objects_, {1, 1'000'000'000}, "Objects each consumer frees");
    harness::declare_batch(options, round_, 100'000'000);
    sizes_.declare(options);
    options.count("samples", samples_, {2, memory_log::most_samples}, "Times memory is looked at");
  }

  void check(const harness::option_table&) override {
    sizes_.check();
    const double live = static_cast<double>(pairs() * std::min(round_, objects_)) * sizes_.mean();
    harness::require_memory(static_cast<std::uint64_t>(live), "--batch objects for every consumer");
  }

  harness::size_mix sizes() const override { return sizes_.bounds(); }

  void run(harness::measurement& measured) override {
    const std::size_t room = std::min(round_, objects_);
    harness::require_memory(pairs() * room * sizeof(harness::block), "buffers between all threads");
    for (std::uint64_t pair = 0; pair < pairs(); ++pair)
      buffers_.push_back(std::make_unique<buffer>(1, room));
    sizes_of_ = harness::thread_arrays<std::uint32_t>(producers_, harness::size_cycle::length);
    freed_ = harness::thread_arrays<std::uint64_t>(pairs(), 1);
    threads_ = producers_ + pairs();
    memory_log log(measured, 2 * pairs() * objects_, samples_, static_cast<unsigned>(threads_));
    log_ = &log;
    try {
      run_team(measured);
    } catch (const harness::usage_error& error) {
      throw harness::usage_error(std::string("--producers and --consumers-per-producer: ") + error.what());
    }
    for (std::uint64_t pair = 0; pair < pairs(); ++pair)
      measured.verify(freed_[pair].front() == objects_, "every object was freed by its consumer");
    log.report();
  }

private:
  using buffer = harness::batch_queue<harness::block>;

  std::uint64_t pairs() const { return producers_ * consumers_; }

  void prepare(unsigned thread) override {
    if (thread < producers_)
      sizes_.draw(sizes_of_[thread], harness::random_stream(measured_->seed(), thread));
  }

  void run(unsigned thread) override {
    if (thread == 0) log_->sample();
    measured_->with_heap(thread, [&](auto& heap) {
      if (thread < producers_) {
        produce(heap, thread);
      } else {
        consume(heap, thread - producers_);
      }
    });
  }

  // Fills the buffers of the producer's consumers in turn, each when it is empty.
  template <class Heap>
  void produce(Heap& heap, unsigned producer) {
    harness::size_cycle sizes(sizes_of_[producer]);
    for (std::uint64_t done = 0; done < objects_; done += round_) {
      const std::uint64_t count = std::min(round_, objects_ - done);
      for (std::uint64_t consumer = 0; consumer < consumers_; ++consumer) {
        buffers_[producer * consumers_ + consumer]->send([&](std::span<harness::block> room) {
          for (std::uint64_t i = 0; i < count; ++i) {
            room[i] = harness::allocate_stamped(heap, sizes.next(), harness::stamp_of(i));
            log_->allocated(room[i].bytes);
          }
          return count;
        });
      }
    }
    for (std::uint64_t consumer = 0; consumer < consumers_; ++consumer)
      buffers_[producer * consumers_ + consumer]->close();
  }

  template <class Heap>
  void consume(Heap& heap, std::uint64_t pair) {
    while (buffers_[pair]->receive([&](std::span<harness::block> filled) {
      for (std::size_t i = 0; i < filled.size(); ++i) {
        harness::release_stamped(heap, filled[i], harness::stamp_of(i));
        log_->freed(filled[i].bytes);
      }
      freed_[pair].front() += filled.size();
    })) {
    }
  }

  void finished() override { log_->sample(); }

  std::uint64_t producers_ = 1;
  std::uint64_t consumers_ = 1;
  std::uint64_t objects_ = 100'000;
  std::uint64_t round_ = 100'000;
  std::uint64_t samples_ = 200;
  harness::stepped_sizes sizes_;
  std::vector<std::unique_ptr<buffer>> buffers_;
  harness::thread_arrays<std::uint32_t> sizes_of_;
  harness::thread_arrays<std::uint64_t> freed_;
  memory_log* log_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<memory_workload>(argc, argv);
}
