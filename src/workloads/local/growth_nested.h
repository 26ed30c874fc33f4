// The four structures nested in a given outer one: DS5 to DS8 and DS9 to DS12 of P0089.
#pragma once

#include <array>

#include "workloads/local/growth.h"

namespace heaplab::strategies {

// Outer::of<Handle, T> is a container of T.
template <class Outer>
struct nested {
  template <class Handle>
  using vectors_of_numbers = typename Outer::template of<
      Handle, typename containers<Handle>::template vector<typename containers<Handle>::number>>;
  template <class Handle>
  using vectors_of_texts = typename Outer::template of<
      Handle, typename containers<Handle>::template vector<typename containers<Handle>::text>>;
  template <class Handle>
  using number_sets = typename Outer::template of<Handle, typename containers<Handle>::number_set>;
  template <class Handle>
  using text_sets = typename Outer::template of<Handle, typename containers<Handle>::text_set>;
};

// `place` is an index into the structures above, from 0.
template <class Outer>
std::unique_ptr<grower> make_nested(std::uint64_t place, const growth_job& job) {
  using kinds = nested<Outer>;
  constexpr std::array makers{
      make_grower<kinds::template vectors_of_numbers>, make_grower<kinds::template vectors_of_texts>,
      make_grower<kinds::template number_sets>, make_grower<kinds::template text_sets>};
  return makers[place](job);
}

}  // namespace heaplab::strategies
