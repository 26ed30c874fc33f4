#include "workloads/false_sharing/false_sharing.h"

namespace {

class cache_thrash final : public heaplab::false_sharing {
public:
  cache_thrash() : false_sharing(chapter) {}

private:
  heaplab::harness::description describe() const override {
    return {"cache_thrash", "threads that write to tiny objects each has allocated itself",
            "cache_thrash --threads 2 --cache-rw 10k"};
  }
};

}  // namespace

int main(int argc, char** argv) {
  return heaplab::harness::run_program<cache_thrash>(argc, argv);
}
