#include "workloads/false_sharing/false_sharing.h"

namespace {

class active_false final : public heaplab::false_sharing {
public:
  active_false() : false_sharing(classic) {}

private:
  heaplab::harness::description describe() const override {
    return {"active_false", "threads that write to small objects each has allocated itself",
            "active_false --threads 2 --repetitions 10k"};
  }
};

}  // namespace

int main(int argc, char** argv) {
  return heaplab::harness::run_program<active_false>(argc, argv);
}
