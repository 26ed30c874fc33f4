// Objects of tens of MiB: each thread holds a few and replaces the oldest, like image and matrix programs.
// The workload shows whether an allocator calls the system for each object, and whether it returns memory.
#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

enum class touch { ends, pages };

class large_cycle final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"large_cycle", "objects of tens of MiB, the oldest replaced each time",
            "large_cycle --objects 20 --min-size 8MiB --max-size 32MiB --memory-left"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_, 64);
    harness::declare_objects(options, objects_, 10'000'000);
    harness::declare_live_objects(options, live_, {1, 1000});
    sizes_.declare(options, {std::uint64_t{1} << 16, std::uint64_t{1} << 36});
    options.choice("written", touch_, {{"ends", touch::ends}, {"pages", touch::pages}},
                   "How much of an object is written: both ends, or every page");
  }

  void check(const harness::option_table&) override {
    sizes_.check();
    if (touch_ == touch::pages)
      harness::require_memory(threads_ * live_ * sizes_.most, "--live-objects of --max-size bytes");
  }

  harness::size_mix sizes() const override { return sizes_; }

  void run(harness::measurement& measured) override {
    held_ = harness::thread_arrays<harness::block>(threads_, live_);
    run_team(measured);
    measured.add_metric("pairs", static_cast<double>(threads_ * objects_), "1");
  }

private:
  static constexpr std::size_t page = 4096;

  void run(unsigned thread) override {
    const std::span<harness::block> held = held_[thread];
    harness::random_stream random(measured_->seed(), thread);
    measured_->with_heap(thread, [&](auto& heap) {
      for (std::uint64_t i = 0; i < objects_ + live_; ++i) {
        harness::block& oldest = held[i % live_];
        const std::uint8_t stamp = harness::stamp_of(i % live_ + thread * live_);
        if (oldest.start != nullptr) release(heap, oldest, stamp);
        oldest = i < objects_ ? allocate(heap, sizes_.uniform(random), stamp) : harness::block{};
      }
    });
  }

  // One byte of every page is written, at multiples of a page from the start of the object.
  template <class Heap>
  harness::block allocate(Heap& heap, std::size_t bytes, std::uint8_t stamp) const {
    const harness::block fresh = harness::allocate_stamped(heap, bytes, stamp);
    if (touch_ == touch::pages)
      for (std::size_t at = page; at < bytes; at += page) static_cast<std::uint8_t*>(fresh.start)[at] = stamp;
    return fresh;
  }

  template <class Heap>
  void release(Heap& heap, harness::block held, std::uint8_t stamp) const {
    const auto* const bytes = static_cast<const std::uint8_t*>(held.start);
    if (touch_ == touch::pages)
      for (std::size_t at = page; at < held.bytes; at += page)
        if (bytes[at] != stamp) [[unlikely]]
          harness::broken_block(held, "does not hold what was written into it");
    harness::release_stamped(heap, held, stamp);
  }

  std::uint64_t objects_ = 100;
  std::uint64_t live_ = 4;
  harness::size_mix sizes_{std::uint64_t{16} << 20, std::uint64_t{64} << 20};
  touch touch_ = touch::pages;
  harness::thread_arrays<harness::block> held_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<large_cycle>(argc, argv);
}
