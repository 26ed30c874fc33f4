#include "workloads/local/growth_nested.h"

namespace heaplab::strategies {

namespace {

struct sets {
  template <class Handle, class T>
  using of = typename containers<Handle>::template set_of<T>;
};

}  // namespace

std::unique_ptr<grower> make_set_of(std::uint64_t number, const growth_job& job) {
  return make_nested<sets>(number - 9, job);
}

}  // namespace heaplab::strategies
