// Speed: each thread makes the same few calls on one object after the other, and nothing else. The card
// catalog/workloads/speed.toml lists the choices that the publication leaves open.
#include <optional>
#include <string>

#include "workloads/harness/harness.h"
#include "workloads/speed/chain.h"

namespace {

using namespace heaplab;
using speed::step;

class speed_workload final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"speed", "a chain of malloc, calloc, realloc and free, done to one object after the other",
            "speed --threads 2 --chain malloc-realloc-free --latency"};
  }

  void declare(harness::option_table& options) override {
    options.text("chain", text_, "Steps joined by '-': malloc, calloc, realloc, free");
    harness::declare_threads(options, threads_);
    options.count("chain-repeats", objects_, {1, 1'000'000'000}, "Times each thread does the chain");
    harness::declare_rounds(options, rounds_, 1'000'000'000);
    sizes_.declare(options);
    options.flag("prepared", prepared_,
                 "Whether a chain that begins with realloc or free gets objects allocated before the clock "
                 "starts, or null pointers");
    options.flag("time-leftovers", time_leftovers_,
                 "Whether objects that the chain leaves are freed before the clock stops, or after");
    touching_.declare(options);
  }

  void check(const harness::option_table&) override {
    try {
      chain_.emplace(text_);
    } catch (const harness::usage_error& error) {
      throw harness::usage_error(std::string("--chain: ") + error.what());
    }
    if (rounds_ > 1 && (chain_->needs_object() || (chain_->leaves_object() && !time_leftovers_)))
      throw harness::usage_error(
          "--rounds: more than 1 is for chains that begin with malloc or calloc, and that end with free or "
          "have "
          "--time-leftovers");
    sizes_.check();
    const double live = keeps_objects() ? static_cast<double>(threads_ * objects_) * sizes_.mean() : 0;
    harness::require_memory(static_cast<std::uint64_t>(live), "--chain-repeats in all --threads");
  }

  harness::size_mix sizes() const override { return sizes_.bounds(); }

  void run(harness::measurement& measured) override {
    if (keeps_objects()) objects_of_ = harness::thread_arrays<harness::block>(threads_, objects_);
    sizes_of_ = harness::thread_arrays<std::uint32_t>(threads_, harness::size_cycle::length);
    guard_blocks_.allocate(sizes_.bounds().most);
    run_team(measured);
    guard_blocks_.release();
    measured.add_metric("calls", static_cast<double>(threads_ * rounds_ * objects_ * chain_->steps().size()),
                        "1");
  }

private:
  bool starts_with_object() const { return prepared_ && chain_->needs_object(); }
  bool keeps_objects() const { return starts_with_object() || chain_->leaves_object(); }

  void prepare(unsigned thread) override {
    sizes_.draw(sizes_of_[thread], harness::random_stream(measured_->seed(), thread));
    if (!starts_with_object()) return;
    harness::plain_heap heap;
    harness::size_cycle sizes(sizes_of_[thread]);
    for (std::uint64_t i = 0; i < objects_; ++i)
      objects_of_[thread][i] = touching_.allocate(heap, sizes.next(), harness::stamp_of(i));
  }

  void run(unsigned thread) override {
    const bool load = starts_with_object();
    const bool store = keeps_objects();
    const std::span<harness::block> objects = store ? objects_of_[thread] : std::span<harness::block>();
    // Skips one size, so that the sizes differ from those of the prepared objects: realloc must change the
    // sizes.
    harness::size_cycle sizes(sizes_of_[thread]);
    sizes.next();
    measured_->with_heap(thread, [&](auto& heap) {
      for (std::uint64_t round = 0; round < rounds_; ++round) {
        for (std::uint64_t i = 0; i < objects_; ++i) {
          const harness::block left =
              do_chain(heap, load ? objects[i] : harness::block{}, sizes, harness::stamp_of(i));
          if (store) objects[i] = left;
        }
        if (time_leftovers_ && store) free_leftovers(heap, objects);
      }
    });
  }

  template <class Heap>
  harness::block do_chain(Heap& heap, harness::block held, harness::size_cycle& sizes, std::uint8_t stamp) {
    for (const step next : chain_->steps()) {
      switch (next) {
        case step::malloc:
          held = touching_.allocate(heap, sizes.next(), stamp);
          break;
        case step::calloc:
          held = touching_.allocate_zeroed(heap, sizes.next(), stamp);
          break;
        case step::realloc:
          held = touching_.reallocate(heap, held, sizes.next(), stamp);
          break;
        case step::free:
          touching_.release(heap, held, stamp);
          held = {};
          break;
      }
    }
    return held;
  }

  template <class Heap>
  void free_leftovers(Heap& heap, std::span<harness::block> objects) {
    for (std::uint64_t i = 0; i < objects.size(); ++i) {
      touching_.release(heap, objects[i], harness::stamp_of(i));
      objects[i] = {};
    }
  }

  void finished() override {
    harness::plain_heap heap;
    for (unsigned thread = 0; thread < threads_ && keeps_objects(); ++thread)
      free_leftovers(heap, objects_of_[thread]);
  }

  std::string text_ = "malloc-free";
  std::uint64_t objects_ = 100'000;
  std::uint64_t rounds_ = 1;
  harness::stepped_sizes sizes_;
  bool prepared_ = true;
  bool time_leftovers_ = false;
  harness::touching touching_;
  std::optional<speed::chain> chain_;
  harness::thread_arrays<harness::block> objects_of_;
  harness::thread_arrays<std::uint32_t> sizes_of_;
  harness::guard_blocks guard_blocks_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<speed_workload>(argc, argv);
}
