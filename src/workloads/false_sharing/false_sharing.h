// Each thread writes to a small object of its own, again and again. If an allocator has put the objects of
// two threads on one cache line, the line travels between the cores. After Berger et al., Hoard (ASPLOS
// 2000): cache-thrash (active) and cache-scratch (passive). cache_thrash and cache_scratch are the variants
// of the llheap chapter, in which the threads do not divide the accesses among themselves.
#pragma once

#include <string>

#include "workloads/harness/harness.h"

namespace heaplab {

class false_sharing : public harness::team_workload {
public:
  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_);
    options.count("iterations", iterations_, {1, 1'000'000'000},
                  "Objects each thread uses, one after another");
    options.count(form_.accesses, repetitions_, {1, 1'000'000'000},
                  std::string("Times every byte of an object is read and written") +
                      (form_.divided ? ", divided among the threads" : ""));
    harness::declare_size(options, size_, 4096);
  }

  void check(const harness::option_table&) override {
    if (repetitions_of_thread() == 0)
      throw harness::usage_error(std::string("--") + form_.accesses + " must not be fewer than --threads");
  }

  harness::size_mix sizes() const override { return {size_, size_}; }

  void run(harness::measurement& measured) override {
    handed_ = harness::thread_arrays<harness::block>(threads_, 1);
    harness::plain_heap heap;
    guard_blocks_.allocate(size_);
    for (unsigned thread = 0; thread < threads_ && handed() != hand_over::none; ++thread)
      handed_[thread].front() = harness::allocate_stamped(heap, size_, harness::stamp_of(thread));
    run_team(measured);
    guard_blocks_.release();
    measured.add_metric("accesses",
                        static_cast<double>(threads_ * iterations_ * repetitions_of_thread() * size_), "1");
  }

protected:
  // What a thread does with the object that the main thread allocated for it before the clock started.
  enum class hand_over { none, freed, used };

  // The published variants of the workload.
  struct form {
    const char* accesses;  // name of the option for the number of accesses
    bool divided;          // whether the threads divide the accesses among themselves
    std::uint64_t standard_accesses;
    std::uint64_t standard_size;
  };

  explicit false_sharing(const form& published)
      : form_(published), repetitions_(published.standard_accesses), size_(published.standard_size) {}
  ~false_sharing() override = default;

  static constexpr form classic{"repetitions", true, 100'000, 8};
  static constexpr form chapter{"cache-rw", false, 1'000'000, 1};

private:
  virtual hand_over handed() const { return hand_over::none; }

  std::uint64_t repetitions_of_thread() const {
    return form_.divided ? repetitions_ / threads_ : repetitions_;
  }

  void run(unsigned thread) override {
    measured_->with_heap(thread, [&](auto& heap) {
      if (handed() == hand_over::freed) {
        harness::release_stamped(heap, handed_[thread].front(), harness::stamp_of(thread));
      } else if (handed() == hand_over::used) {
        harness::expect_stamp(handed_[thread].front(), harness::stamp_of(thread));
        use(handed_[thread].front());
        harness::release_stamped(heap, handed_[thread].front(), stamp_after_use());
      }
      for (std::uint64_t i = 0; i < iterations_; ++i) {
        const harness::block object = harness::allocate_stamped(heap, size_, 0);
        use(object);
        harness::release_stamped(heap, object, stamp_after_use());
      }
    });
  }

  // Adds one to every byte in each repetition: if two threads write to one byte, additions are lost.
  void use(harness::block object) const {
    auto* const bytes = static_cast<volatile std::uint8_t*>(object.start);
    for (std::size_t at = 0; at < object.bytes; ++at) bytes[at] = 0;
    const std::uint64_t repetitions =
        repetitions_of_thread();  // read once, because the bytes written might alias a member
    for (std::uint64_t repetition = 0; repetition < repetitions; ++repetition)
      for (std::size_t at = 0; at < object.bytes; ++at) bytes[at] = static_cast<std::uint8_t>(bytes[at] + 1);
  }

  std::uint8_t stamp_after_use() const { return harness::stamp_of(repetitions_of_thread()); }

  form form_;
  std::uint64_t iterations_ = 1000;
  std::uint64_t repetitions_;
  std::uint64_t size_;
  harness::thread_arrays<harness::block> handed_;
  harness::guard_blocks guard_blocks_;
};

}  // namespace heaplab
