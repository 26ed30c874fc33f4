#include "workloads/blowup/held_objects.h"

namespace heaplab::blowup {
namespace {

// Each thread holds one object of each of many sizes, as far as there is room.
class spread final : public pattern {
public:
  explicit spread(const run_context& context)
      : context_(context),
        objects_(context, context.asked.live / context.asked.threads, context.asked.spread_sizes) {}

  void run(unsigned thread) override {
    const harness::size_mix& sizes = context_.asked.sizes;
    const std::uint64_t count = context_.asked.spread_sizes;
    context_.measured.with_heap(thread, [&](auto& heap) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t bytes = sizes.least + (sizes.most - sizes.least) * i / (count - 1);
        if (!objects_.has_room(thread, bytes)) break;
        objects_.add(heap, thread, bytes);
      }
      objects_.tell(thread);
    });
  }

  void release_rest() override { objects_.empty_all(); }

private:
  run_context context_;
  held_objects objects_;
};

const registered<spread> entered{"spread",
                                 "many living threads hold one object of each of many sizes: what a heap "
                                 "keeps ready for each thread and size is never used",
                                 "sizes"};

}  // namespace
}  // namespace heaplab::blowup
