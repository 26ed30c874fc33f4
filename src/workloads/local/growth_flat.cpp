#include "workloads/local/growth.h"

namespace heaplab::strategies {

namespace {

template <class Handle>
using ds1 = typename containers<Handle>::template vector<typename containers<Handle>::number>;
template <class Handle>
using ds2 = typename containers<Handle>::template vector<typename containers<Handle>::text>;
template <class Handle>
using ds3 = typename containers<Handle>::number_set;
template <class Handle>
using ds4 = typename containers<Handle>::text_set;

}  // namespace

std::unique_ptr<grower> make_flat(std::uint64_t number, const growth_job& job) {
  switch (number) {
    case 1:
      return make_grower<ds1>(job);
    case 2:
      return make_grower<ds2>(job);
    case 3:
      return make_grower<ds3>(job);
    default:
      return make_grower<ds4>(job);
  }
}

}  // namespace heaplab::strategies
