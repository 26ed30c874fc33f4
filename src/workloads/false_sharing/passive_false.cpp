#include "workloads/false_sharing/false_sharing.h"

namespace {

// The objects handed over lie side by side. If each thread reuses the object it has freed, the new objects
// are neighbours again.
class passive_false final : public heaplab::false_sharing {
public:
  passive_false() : false_sharing(classic) {}

private:
  heaplab::harness::description describe() const override {
    return {"passive_false",
            "threads that write to small objects, after each has freed one of the main thread's",
            "passive_false --threads 2 --repetitions 10k"};
  }
  hand_over handed() const override { return hand_over::freed; }
};

}  // namespace

int main(int argc, char** argv) {
  return heaplab::harness::run_program<passive_false>(argc, argv);
}
