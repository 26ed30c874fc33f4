#include "workloads/blowup/held_objects.h"

namespace heaplab::blowup {
namespace {

// Each thread of the team frees half of its objects, chosen at random, and never allocates. In each round a
// new thread allocates objects in their place.
class generations final : public pattern {
public:
  explicit generations(const run_context& context)
      : context_(context), objects_(context, context.asked.live / context.asked.threads) {}

  void run(unsigned thread) override {
    harness::random_stream random(context_.measured.seed(), thread);
    const auto next = [&] { live_one_generation(thread, random); };
    const std::uint64_t rounds = context_.asked.rounds;
    for (std::uint64_t round = 0; round < rounds && context_.team.run_in_thread(next); ++round) {
      const double percent = round + 1 < rounds ? 50 : 100;
      context_.measured.with_heap(thread, [&](auto& heap) { evict(heap, thread, percent, random); });
    }
  }

  void release_rest() override {}  // the last round leaves nothing

private:
  void live_one_generation(unsigned parent, harness::random_stream& random) {
    context_.measured.with_heap(parent, [&](auto& heap) {
      for (std::size_t i = 0; i < objects_.of(parent).size(); ++i) {
        if (objects_.of(parent)[i].start != nullptr) continue;
        const std::uint64_t bytes = context_.asked.sizes.logarithmic(random);
        if (!objects_.has_room(parent, bytes)) break;
        objects_.put(heap, parent, i, bytes);
      }
      objects_.tell(parent);
    });
  }

  template <class Heap>
  void evict(Heap& heap, unsigned thread, double percent, harness::random_stream& random) {
    for (std::size_t i = 0; i < objects_.of(thread).size(); ++i)
      if (objects_.of(thread)[i].start != nullptr && random.chance(percent))
        objects_.release(heap, thread, i);
  }

  run_context context_;
  held_objects objects_;
};

const registered<generations> entered{"generations",
                                      "an old thread frees at random what ever new threads have allocated"};

}  // namespace
}  // namespace heaplab::blowup
