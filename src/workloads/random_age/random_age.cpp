// A table of live objects in which each step replaces a random object: the age at which an object is freed is
// geometrically distributed, and neighbours in memory are freed at unrelated times.
#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

class random_age final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"random_age", "random objects of a large table replaced one at a time by others of random size",
            "random_age --live-objects 100k --replacements 1M"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_);
    harness::declare_live_objects(options, objects_, {1, 100'000'000});
    options.count("replacements", replacements_, {1, 10'000'000'000}, "Objects replaced by each thread");
    sizes_.declare(options, {1, std::uint64_t{1} << 26});
    options.count("emptied-every", emptied_every_, {0, 10'000'000'000},
                  "Replacements after which a thread frees all its objects and allocates others; 0: never");
  }

  void check(const harness::option_table&) override {
    sizes_.check();
    harness::require_memory(threads_ * objects_ * ((sizes_.least + sizes_.most) / 2),
                            "--live-objects of --min-size to --max-size bytes");
  }

  harness::size_mix sizes() const override { return sizes_; }

  void run(harness::measurement& measured) override {
    tables_ = harness::thread_arrays<harness::block>(threads_, objects_);
    live_bytes_ = harness::thread_arrays<std::uint64_t>(threads_, 1);
    run_team(measured);
    measured.add_metric("pairs", static_cast<double>(threads_ * replacements_), "1");
    measured.add_metric("live_memory", live_bytes_.total(), "B");
    harness::plain_heap heap;
    for (unsigned thread = 0; thread < threads_; ++thread) empty(heap, thread);
  }

private:
  void prepare(unsigned thread) override {
    harness::plain_heap heap;
    harness::random_stream random(measured_->seed(), thread);
    fill(heap, thread, random);
  }

  void run(unsigned thread) override {
    const std::span<harness::block> table = tables_[thread];
    harness::random_stream random(measured_->seed() + 1, thread);
    measured_->with_heap(thread, [&](auto& heap) {
      for (std::uint64_t done = 0; done < replacements_; ++done) {
        if (emptied_every_ > 0 && done % emptied_every_ == 0 && done > 0) {
          empty(heap, thread);
          fill(heap, thread, random);
        }
        const std::size_t i = random.below(table.size());
        harness::release_stamped(heap, table[i], harness::stamp_of(i + thread));
        table[i] = harness::allocate_stamped(heap, sizes_.logarithmic(random), harness::stamp_of(i + thread));
      }
    });
    std::uint64_t live = 0;
    for (const harness::block& memory : table) live += memory.bytes;
    live_bytes_[thread].front() = live;
  }

  template <class Heap>
  void fill(Heap& heap, unsigned thread, harness::random_stream& random) {
    for (std::size_t i = 0; i < objects_; ++i)
      tables_[thread][i] =
          harness::allocate_stamped(heap, sizes_.logarithmic(random), harness::stamp_of(i + thread));
  }

  template <class Heap>
  void empty(Heap& heap, unsigned thread) {
    for (std::size_t i = 0; i < objects_; ++i)
      harness::release_stamped(heap, tables_[thread][i], harness::stamp_of(i + thread));
  }

  std::uint64_t objects_ = 100'000;
  std::uint64_t replacements_ = 2'000'000;
  harness::size_mix sizes_{16, 1024};
  std::uint64_t emptied_every_ = 0;
  harness::thread_arrays<harness::block> tables_;
  harness::thread_arrays<std::uint64_t> live_bytes_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<random_age>(argc, argv);
}
