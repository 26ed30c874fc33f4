// Buffers that grow by half with realloc until they are full, shrink to their contents, and are freed, like
// strings, vectors and network buffers. Small objects that are allocated and freed meanwhile occupy the space
// behind a buffer.
#include <utility>

#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

class growing_buffers final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"growing_buffers", "buffers grown by realloc step by step, among small objects",
            "growing_buffers --threads 2 --steps 100k"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_);
    options.count("steps", steps_, {1, 10'000'000'000},
                  "Steps of each thread; each grows or ends one buffer");
    options.count("buffers", buffers_, {1, 1'000'000}, "Buffers of each thread that grow side by side");
    sizes_.declare(options, {16, std::uint64_t{1} << 30});
    options.percent("small", small_, "Steps that also replace a small object");
  }

  void check(const harness::option_table&) override {
    sizes_.check();
    harness::require_memory(threads_ * buffers_ * (sizes_.most / 4), "--buffers up to --max-size bytes");
  }

  harness::size_mix sizes() const override { return sizes_; }

  void run(harness::measurement& measured) override {
    growing_ = harness::thread_arrays<buffer>(threads_, buffers_);
    objects_ = harness::thread_arrays<harness::block>(threads_, buffers_);
    run_team(measured);
    measured.add_metric("steps", static_cast<double>(threads_ * steps_), "1");
  }

private:
  struct buffer {
    harness::block now;
    std::uint64_t end = 0;  // size in bytes at which the buffer is full
  };

  void run(unsigned thread) override {
    harness::random_stream random(measured_->seed(), thread);
    measured_->with_heap(thread, [&](auto& heap) {
      for (std::uint64_t step = 0; step < steps_; ++step) {
        const std::size_t i = random.below(buffers_);
        advance(heap, growing_[thread][i], harness::stamp_of(i + thread), random);
        if (random.chance(small_)) replace(heap, objects_[thread][i], harness::stamp_of(i + thread), random);
      }
      for (std::size_t i = 0; i < buffers_; ++i) {
        discard(heap, growing_[thread][i].now, harness::stamp_of(i + thread));
        discard(heap, objects_[thread][i], harness::stamp_of(i + thread));
      }
    });
  }

  // Allocates the buffer if there is none, grows it by half, or shrinks and frees it if it is full.
  template <class Heap>
  void advance(Heap& heap, buffer& grown, std::uint8_t stamp, harness::random_stream& random) {
    if (grown.now.start == nullptr) {
      grown.end = sizes_.logarithmic(random);
      grown.now = harness::allocate_stamped(heap, sizes_.least, stamp);
    } else if (grown.now.bytes < grown.end) {
      const std::uint64_t larger = grown.now.bytes + grown.now.bytes / 2;
      grown.now = harness::reallocate_stamped(heap, grown.now, larger, stamp);
    } else {
      grown.now = harness::reallocate_stamped(heap, grown.now, grown.end, stamp);
      discard(heap, grown.now, stamp);
    }
  }

  template <class Heap>
  void replace(Heap& heap, harness::block& object, std::uint8_t stamp, harness::random_stream& random) {
    discard(heap, object, stamp);
    object = harness::allocate_stamped(heap, random.between(16, 256), stamp);
  }

  template <class Heap>
  static void discard(Heap& heap, harness::block& memory, std::uint8_t stamp) {
    if (memory.start != nullptr) harness::release_stamped(heap, std::exchange(memory, {}), stamp);
  }

  std::uint64_t steps_ = 1'000'000;
  std::uint64_t buffers_ = 256;
  harness::size_mix sizes_{16, 256 * std::uint64_t{1024}};
  double small_ = 50;
  harness::thread_arrays<buffer> growing_;
  harness::thread_arrays<harness::block> objects_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<growing_buffers>(argc, argv);
}
