// Each thread writes to a small object of its own, again and again. Where an allocator has put the objects
// of two threads on one cache line, the line travels between the cores. After Berger et al., Hoard
// (ASPLOS 2000): cache-thrash (active) and cache-scratch (passive).
#pragma once

#include "workloads/harness/harness.h"

namespace heaplab {

class false_sharing : public harness::workload, probes::team_task {
public:
  void declare(harness::option_table& options) override {
    options.count("threads", threads_, {1, 1024}, "Threads at work");
    options.count("iterations", iterations_, {1, 1'000'000'000},
                  "Objects each thread uses, one after another");
    options.count("repetitions", repetitions_, {1, 1'000'000'000},
                  "Times every byte of an object is read and written, divided among the threads");
    options.size("size", size_, {1, 4096}, "Size of every object");
  }

  void check(const harness::option_table&) override {
    if (repetitions_ < threads_) throw harness::usage_error("--repetitions must not be fewer than --threads");
  }

  harness::size_mix sizes() const override { return {size_, size_}; }

  void run(harness::measurement& measured) override {
    measured_ = &measured;
    handed_ = harness::thread_arrays<harness::block>(threads_, 1);
    harness::plain_heap heap;
    bystanders_.allocate(size_);
    for (unsigned thread = 0; thread < threads_ && hands_over(); ++thread)
      handed_[thread].front() = harness::allocate_stamped(heap, size_, harness::stamp_of(thread));
    measured.run_team(static_cast<unsigned>(threads_), *this);
    bystanders_.release();
    measured.add_metric("accesses",
                        static_cast<double>(threads_ * iterations_ * (repetitions_ / threads_) * size_), "1");
  }

protected:
  false_sharing() = default;
  ~false_sharing() override = default;

private:
  // Whether the main thread gives each thread an object to free before it begins.
  virtual bool hands_over() const = 0;

  void run(unsigned thread) override {
    measured_->with_heap(thread, [&](auto& heap) {
      if (hands_over()) harness::release_stamped(heap, handed_[thread].front(), harness::stamp_of(thread));
      for (std::uint64_t i = 0; i < iterations_; ++i) {
        const harness::block object = harness::allocate_stamped(heap, size_, 0);
        use(object);
        harness::release_stamped(heap, object, stamp_after_use());
      }
    });
  }

  // Adds one to every byte in each repetition: two threads on one byte lose additions.
  void use(harness::block object) const {
    auto* const bytes = static_cast<volatile std::uint8_t*>(object.start);
    for (std::size_t at = 0; at < object.bytes; ++at) bytes[at] = 0;
    for (std::uint64_t repetition = 0; repetition < repetitions_ / threads_; ++repetition)
      for (std::size_t at = 0; at < object.bytes; ++at) bytes[at] = static_cast<std::uint8_t>(bytes[at] + 1);
  }

  std::uint8_t stamp_after_use() const { return harness::stamp_of(repetitions_ / threads_); }

  std::uint64_t threads_ = 1;
  std::uint64_t iterations_ = 1000;
  std::uint64_t repetitions_ = 100'000;
  std::uint64_t size_ = 8;
  harness::thread_arrays<harness::block> handed_;
  harness::bystanders bystanders_;
  harness::measurement* measured_ = nullptr;
};

}  // namespace heaplab
