#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/atomic.h"
#include "workloads/blowup/pattern.h"

namespace heaplab::blowup {
namespace {

// A pool of threads that share objects and become fewer. Each replaces objects at random places, so that most
// blocks are freed by another thread than allocated them. All threads are there in the first phase, a quarter
// in the second, and one of 32 in the third; every phase replaces as many objects.
class pool final : public pattern {
public:
  explicit pool(const run_context& context)
      : context_(context),
        places_(1, context.asked.live / mean_of(context.asked.sizes, context.measured.seed())) {}

  // The threads of the team exist for the whole run; each waits for one of the pool, which ends earlier.
  void run(unsigned thread) override {
    const auto life = [&] { live(thread); };
    context_.team.run_in_thread(life);
  }

  void release_rest() override {
    harness::plain_heap heap;
    for (place& slot : places_[0])
      if (slot.object.start != nullptr) release(heap, slot);
  }

private:
  struct place {
    heaplab::atomic<bool> taken{false};
    harness::block object{};
  };

  void live(unsigned thread) {
    harness::random_stream random(context_.measured.seed(), thread);
    context_.measured.with_heap(thread, [&](auto& heap) {
      for (const std::uint64_t share : {1, 4, 32}) {
        const std::uint64_t team = std::max<std::uint64_t>(context_.asked.threads / share, 1);
        if (thread >= team) return;
        for (std::uint64_t left = context_.asked.rounds * places_[0].size() / team; left > 0; --left)
          replace(heap, random);
      }
    });
  }

  template <class Heap>
  void replace(Heap& heap, harness::random_stream& random) {
    place& slot = places_[0][random.below(places_[0].size())];
    // acquire pairs with the release below: the thread sees the object that another has put here.
    if (slot.taken.exchange(true, std::memory_order_acquire)) return;
    if (slot.object.start != nullptr) release(heap, slot);
    const std::uint64_t bytes = context_.asked.sizes.logarithmic(random);
    const auto limit = static_cast<std::int64_t>(context_.asked.live);
    if (context_.total.add(static_cast<std::int64_t>(bytes), limit))
      slot.object = harness::allocate_stamped(heap, bytes, stamp_of(slot));
    slot.taken.store(false, std::memory_order_release);
  }

  template <class Heap>
  void release(Heap& heap, place& slot) {
    context_.total.add(-static_cast<std::int64_t>(slot.object.bytes));
    harness::release_stamped(heap, std::exchange(slot.object, {}), stamp_of(slot));
  }

  static std::uint64_t mean_of(const harness::size_mix& sizes, std::uint64_t seed) {
    constexpr std::uint64_t draws = 10'000;
    harness::random_stream random(seed);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < draws; ++i) sum += sizes.logarithmic(random);
    return sum / draws;
  }

  std::uint8_t stamp_of(const place& slot) const {
    return harness::stamp_of(static_cast<std::uint64_t>(&slot - places_[0].data()));
  }

  run_context context_;
  harness::thread_arrays<place> places_;
};

const registered<pool> entered{
    "pool", "a pool of threads becomes smaller (all, a quarter, one of 32) while it replaces shared objects"};

}  // namespace
}  // namespace heaplab::blowup
