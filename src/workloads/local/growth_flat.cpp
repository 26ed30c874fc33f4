#include <array>

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
  constexpr std::array makers{make_grower<ds1>, make_grower<ds2>, make_grower<ds3>, make_grower<ds4>};
  return makers[number - 1](job);
}

}  // namespace heaplab::strategies
