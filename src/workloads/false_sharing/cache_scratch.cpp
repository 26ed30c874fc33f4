#include "workloads/false_sharing/false_sharing.h"

namespace {

class cache_scratch final : public heaplab::false_sharing {
public:
  cache_scratch() : false_sharing(chapter) {}

private:
  heaplab::harness::description describe() const override {
    return {"cache_scratch",
            "threads that write to tiny objects, after each has freed one of the main thread's",
            "cache_scratch --threads 2 --cache-rw 10k"};
  }

  void declare(heaplab::harness::option_table& options) override {
    false_sharing::declare(options);
    options.choice("handed", handed_, {{"freed", hand_over::freed}, {"used", hand_over::used}},
                   "What a thread does with the object it is given: free it, or use it like its own before");
  }

  hand_over handed() const override { return handed_; }

  hand_over handed_ = hand_over::freed;
};

}  // namespace

int main(int argc, char** argv) {
  return heaplab::harness::run_program<cache_scratch>(argc, argv);
}
