#pragma once

#include <algorithm>

#include "workloads/blowup/held_objects.h"

namespace heaplab::blowup {

// Sizes grow by an eighth from least to most, and then start again.
inline std::uint64_t size_of_round(const harness::size_mix& sizes, std::uint64_t round) {
  std::uint64_t bytes = sizes.least;
  for (std::uint64_t i = 0; i < round; ++i) {
    bytes += std::max<std::uint64_t>(bytes / 8, 1);
    if (bytes > sizes.most) bytes = sizes.least;
  }
  return bytes;
}

// In each round all threads fill up with objects of one size, meet, and free what does not stay.
class rounds : public pattern {
public:
  explicit rounds(const run_context& context, std::uint64_t live_of_each)
      : context_(context),
        objects_(context, live_of_each),
        meeting_(static_cast<unsigned>(context.asked.threads)) {}

  void run(unsigned thread) override {
    context_.measured.with_heap(thread, [&](auto& heap) {
      for (std::uint64_t round = 0; round < context_.asked.rounds; ++round) {
        if (allocates(thread)) objects_.fill(heap, thread, bytes_in(round));
        meeting_.wait();
        if (frees(thread))
          objects_.empty(heap, frees_those_of(thread), [&](std::size_t i) { return stays(i); });
        meeting_.wait();
      }
    });
  }

  void release_rest() override { objects_.empty_all(); }

protected:
  virtual std::uint64_t bytes_in(std::uint64_t round) const {
    return size_of_round(context_.asked.sizes, round);
  }
  virtual bool allocates(unsigned) const { return true; }
  virtual bool frees(unsigned) const { return true; }
  virtual unsigned frees_those_of(unsigned thread) const { return thread; }
  virtual bool stays(std::size_t) const { return false; }

  run_context context_;

private:
  held_objects objects_;
  probes::barrier meeting_;
};

}  // namespace heaplab::blowup
