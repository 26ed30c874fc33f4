// Churn: each thread has a few spots; again and again the thread frees the object in one of the spots and
// puts a new object there. The card catalog/workloads/churn.toml lists the choices that the publication
// leaves open.
#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

enum class spot_choice { random, in_turn };

class churn final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"churn", "objects of drawn sizes that replace each other in a few spots of each thread",
            "churn --threads 2 --live-objects 16 --objects 100k"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_);
    harness::declare_live_objects(options, spots_, {1, 100'000'000});
    harness::declare_objects(options, objects_, 100'000'000'000);
    sizes_.declare(options);
    options.choice("spot", choice_, {{"random", spot_choice::random}, {"in-turn", spot_choice::in_turn}},
                   "Which spot is next: each holds one of the live objects");
    options.flag("filled", filled_, "Whether the spots hold objects before the clock starts");
    touching_.declare(options);
  }

  void check(const harness::option_table&) override {
    sizes_.check();
    const double live = static_cast<double>(threads_ * spots_) * sizes_.mean();
    harness::require_memory(static_cast<std::uint64_t>(live), "--live-objects in all --threads");
  }

  harness::size_mix sizes() const override { return sizes_.bounds(); }

  void run(harness::measurement& measured) override {
    spots_of_ = harness::thread_arrays<harness::block>(threads_, spots_);
    sizes_of_ = harness::thread_arrays<std::uint32_t>(threads_, harness::size_cycle::length);
    run_team(measured);
    measured.add_metric("pairs", static_cast<double>(threads_ * objects_), "1");
    harness::plain_heap heap;
    for (unsigned thread = 0; thread < threads_; ++thread)
      for (std::size_t spot = 0; spot < spots_; ++spot) clear(heap, thread, spot);
  }

private:
  void prepare(unsigned thread) override {
    sizes_.draw(sizes_of_[thread], harness::random_stream(measured_->seed(), thread));
    if (!filled_) return;
    harness::plain_heap heap;
    harness::size_cycle sizes(sizes_of_[thread]);
    for (std::size_t spot = 0; spot < spots_; ++spot) fill(heap, thread, spot, sizes.next());
  }

  void run(unsigned thread) override {
    harness::random_stream random(measured_->seed() + 1, thread);
    if (choice_ == spot_choice::random) {
      replace(thread, [&](std::uint64_t) { return random.below(spots_); });
    } else {
      replace(thread, [&](std::uint64_t done) { return done % spots_; });
    }
  }

  template <class NextSpot>
  void replace(unsigned thread, NextSpot next_spot) {
    harness::size_cycle sizes(sizes_of_[thread]);
    measured_->with_heap(thread, [&](auto& heap) {
      for (std::uint64_t done = 0; done < objects_; ++done) {
        const std::size_t spot = next_spot(done);
        clear(heap, thread, spot);
        fill(heap, thread, spot, sizes.next());
      }
    });
  }

  // Neighbouring spots of a thread, and the same spot of neighbouring threads, have different stamps.
  static std::uint8_t stamp(unsigned thread, std::size_t spot) { return harness::stamp_of(thread + spot); }

  template <class Heap>
  void fill(Heap& heap, unsigned thread, std::size_t spot, std::size_t bytes) {
    spots_of_[thread][spot] = touching_.allocate(heap, bytes, stamp(thread, spot));
  }

  template <class Heap>
  void clear(Heap& heap, unsigned thread, std::size_t spot) {
    harness::block& held = spots_of_[thread][spot];
    if (held.start != nullptr) touching_.release(heap, held, stamp(thread, spot));
    held = {};
  }

  std::uint64_t spots_ = 16;
  std::uint64_t objects_ = 100'000;
  harness::stepped_sizes sizes_;
  spot_choice choice_ = spot_choice::random;
  bool filled_ = false;
  harness::touching touching_;
  harness::thread_arrays<harness::block> spots_of_;
  harness::thread_arrays<std::uint32_t> sizes_of_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<churn>(argc, argv);
}
