#include "workloads/blowup/rounds.h"

namespace heaplab::blowup {
namespace {

// Sizes grow by four fifths from round to round, and in the first by an eighth from thread to thread. No
// thread waits for another.
class phases final : public pattern {
public:
  explicit phases(const run_context& context)
      : context_(context), objects_(context, context.asked.live / context.asked.threads) {}

  void run(unsigned thread) override {
    harness::random_stream random(context_.measured.seed(), thread);
    context_.measured.with_heap(thread, [&](auto& heap) {
      for (std::uint64_t round = 0; round < context_.asked.rounds; ++round) {
        objects_.fill(heap, thread, size_of_round(context_.asked.sizes, 5 * round + thread));
        objects_.empty(heap, thread, [&](std::size_t) { return random.below(context_.asked.stays) == 0; });
      }
    });
  }

  void release_rest() override { objects_.empty_all(); }

private:
  run_context context_;
  held_objects objects_;
};

const registered<phases> entered{
    "phases",
    "threads pass from size to size, each at its own pace, and keep some objects of each size, at random",
    "stays"};

}  // namespace
}  // namespace heaplab::blowup
