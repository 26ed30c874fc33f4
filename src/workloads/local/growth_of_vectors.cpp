#include "workloads/local/growth_nested.h"

namespace heaplab::strategies {

namespace {

struct vectors {
  template <class Handle, class T>
  using of = typename containers<Handle>::template vector<T>;
};

}  // namespace

std::unique_ptr<grower> make_vector_of(std::uint64_t number, const growth_job& job) {
  return make_nested<vectors>(number - 5, job);
}

}  // namespace heaplab::strategies
