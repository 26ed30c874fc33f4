// Threads replace random objects in arrays of their own, and swap some of them with an array that all threads
// share, so that a part of the objects is freed by others. A thread that ends leaves some objects to its
// successor. After the descriptions of rpmalloc-benchmark and of mstress (mimalloc-bench).
#include <utility>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

class exchange final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"exchange",
            "random objects replaced in arrays of threads, and swapped with those of a shared array",
            "exchange --threads 2 --replacements 100k --swapped 10%"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_, 512);
    harness::declare_live_objects(options, objects_, {1, 8'000'000});  // all holders have a number of 32 bits
    options.count("replacements", replacements_, {1, 10'000'000'000}, "Objects replaced by each thread");
    sizes_.declare(options);
    options.count("shared-places", shared_places_, {1, 1'000'000},
                  "Objects in the array that all threads share, at most");
    options.percent("swapped", swapped_,
                    "Objects swapped with one of the shared array before they are replaced");
    harness::declare_grown(options, grown_);
    harness::declare_write_all(options, write_all_);
    harness::declare_lives(options, lives_);
    options.percent("inherited", inherited_, "Objects that a thread leaves to its successor when it ends");
  }

  void check(const harness::option_table&) override {
    sizes_.check();
    // Objects that grow are replaced when they would exceed the largest size.
    const double each = grown_ > 0 ? static_cast<double>(sizes_.bounds().most) : sizes_.mean();
    harness::require_memory(static_cast<std::uint64_t>(static_cast<double>(holders()) * each),
                            "--live-objects in all --threads, and --shared-places");
  }

  harness::size_mix sizes() const override { return sizes_.bounds(); }

  void run(harness::measurement& measured) override {
    holders_ = harness::thread_arrays<holder>(1, holders());
    shared_ = harness::thread_arrays<shared_place>(1, shared_places_);
    own_ = harness::thread_arrays<std::uint32_t>(threads_, objects_);
    sizes_of_ = harness::thread_arrays<std::uint32_t>(threads_, harness::size_cycle::length);
    of_others_ = harness::thread_arrays<std::uint64_t>(threads_, 1);
    std::uint32_t next = 0;
    for (unsigned thread = 0; thread < threads_; ++thread)
      for (std::uint32_t& place : own_[thread]) place = next++;
    // relaxed: the threads start later.
    for (shared_place& place : shared_[0]) place.number.store(next++, std::memory_order_relaxed);

    run_team(measured);
    measured.add_metric("freed_by_others", of_others_.total(), "1");
    measured.add_metric("pairs", static_cast<double>(threads_ * lives_ * replacements_), "1");
    harness::plain_heap heap;
    for (std::uint32_t number = 0; number < next; ++number) release(heap, number, 0);
  }

private:
  // An object with its size. Threads and shared places hold the numbers of holders, and swap numbers. Every
  // number is in one place, so that a holder belongs to one thread or to one shared place.
  struct alignas(cache_line_bytes) holder {
    harness::block object;
    std::uint64_t allocated_by = 0;  // number of the life
  };
  struct alignas(cache_line_bytes) shared_place {
    atomic<std::uint32_t> number;
  };
  // The state of a thread. When a thread ends, another follows it with the same `thread`.
  struct life {
    unsigned thread;
    std::uint64_t number;  // no other thread has it
    harness::random_stream random;
    harness::size_cycle sizes;
    std::uint64_t of_others = 0;  // objects replaced or freed that another thread had allocated
  };

  std::uint64_t holders() const { return threads_ * objects_ + shared_places_; }

  void prepare(unsigned thread) override {
    sizes_.draw(sizes_of_[thread], harness::random_stream(measured_->seed(), thread));
  }

  void run(unsigned thread) override {
    life own{thread, thread, harness::random_stream(measured_->seed() + 1, thread),
             harness::size_cycle(sizes_of_[thread])};
    run_lives(lives_, [&] { live(own), own.number += threads_; });
    of_others_[thread].front() = own.of_others;
  }

  void live(life& own) {
    const std::span<std::uint32_t> places = own_[own.thread];
    measured_->with_heap(own.thread, [&](auto& heap) {
      for (std::uint64_t done = 0; done < replacements_; ++done) {
        std::uint32_t& number = places[own.random.below(places.size())];
        if (own.random.chance(swapped_)) number = swap(number, own.random);
        own.of_others += replace(heap, number, own);
      }
      for (const std::uint32_t number : places)
        if (!own.random.chance(inherited_)) own.of_others += release(heap, number, own.number);
    });
  }

  // acq_rel pairs with itself: who takes a number sees the object that was put into its holder.
  std::uint32_t swap(std::uint32_t number, harness::random_stream& random) {
    return shared_[0][random.below(shared_places_)].number.exchange(number, std::memory_order_acq_rel);
  }

  // True if another thread had allocated the object that was freed.
  template <class Heap>
  bool replace(Heap& heap, std::uint32_t number, life& own) {
    holder& held = holders_[0][number];
    if (held.object.start != nullptr && own.random.chance(grown_)) {
      const std::size_t bytes = held.object.bytes + own.random.between(1, held.object.bytes);
      if (bytes <= sizes_.bounds().most) {
        const std::size_t before = held.object.bytes;
        held.object = harness::reallocate_stamped(heap, held.object, bytes, harness::stamp_of(number));
        if (write_all_) harness::fill_with_stamp(held.object, harness::stamp_of(number), before);
        return false;
      }
    }
    const bool of_another = release(heap, number, own.number);
    held = {harness::allocate_stamped(heap, own.sizes.next(), harness::stamp_of(number)), own.number};
    if (write_all_) harness::fill_with_stamp(held.object, harness::stamp_of(number));
    return of_another;
  }

  // The holder may be empty. True if another than the life `by` had allocated the object.
  template <class Heap>
  bool release(Heap& heap, std::uint32_t number, std::uint64_t by) {
    const holder held = std::exchange(holders_[0][number], {});
    if (held.object.start == nullptr) return false;
    harness::release_stamped(heap, held.object, harness::stamp_of(number));
    return held.allocated_by != by;
  }

  std::uint64_t objects_ = 1000;
  std::uint64_t replacements_ = 1'000'000;
  harness::stepped_sizes sizes_{{8, 16 << 10}, 8, harness::size_distribution::falling};
  std::uint64_t shared_places_ = 1000;
  double swapped_ = 10;
  double grown_ = 0;
  bool write_all_ = false;
  std::uint64_t lives_ = 1;
  double inherited_ = 0;
  harness::thread_arrays<holder> holders_;
  harness::thread_arrays<shared_place> shared_;
  harness::thread_arrays<std::uint32_t> own_;
  harness::thread_arrays<std::uint32_t> sizes_of_;
  harness::thread_arrays<std::uint64_t> of_others_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<exchange>(argc, argv);
}
