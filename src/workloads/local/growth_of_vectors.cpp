#include "workloads/local/growth.h"

namespace heaplab::strategies {

namespace {

template <class Handle>
using ds5 = typename containers<Handle>::template vector<
    typename containers<Handle>::template vector<typename containers<Handle>::number>>;
template <class Handle>
using ds6 = typename containers<Handle>::template vector<
    typename containers<Handle>::template vector<typename containers<Handle>::text>>;
template <class Handle>
using ds7 = typename containers<Handle>::template vector<typename containers<Handle>::number_set>;
template <class Handle>
using ds8 = typename containers<Handle>::template vector<typename containers<Handle>::text_set>;

}  // namespace

std::unique_ptr<grower> make_vector_of(std::uint64_t number, const growth_job& job) {
  switch (number) {
    case 5:
      return make_grower<ds5>(job);
    case 6:
      return make_grower<ds6>(job);
    case 7:
      return make_grower<ds7>(job);
    default:
      return make_grower<ds8>(job);
  }
}

}  // namespace heaplab::strategies
