#include "workloads/local/growth.h"

namespace heaplab::strategies {

namespace {

template <class Handle>
using ds9 = typename containers<Handle>::template set_of<
    typename containers<Handle>::template vector<typename containers<Handle>::number>>;
template <class Handle>
using ds10 = typename containers<Handle>::template set_of<
    typename containers<Handle>::template vector<typename containers<Handle>::text>>;
template <class Handle>
using ds11 = typename containers<Handle>::template set_of<typename containers<Handle>::number_set>;
template <class Handle>
using ds12 = typename containers<Handle>::template set_of<typename containers<Handle>::text_set>;

}  // namespace

std::unique_ptr<grower> make_set_of(std::uint64_t number, const growth_job& job) {
  switch (number) {
    case 9:
      return make_grower<ds9>(job);
    case 10:
      return make_grower<ds10>(job);
    case 11:
      return make_grower<ds11>(job);
    default:
      return make_grower<ds12>(job);
  }
}

}  // namespace heaplab::strategies
