#pragma once

#include "workloads/blowup/rounds.h"

namespace heaplab::blowup {

class shift final : public rounds {
public:
  explicit shift(const run_context& context) : rounds(context, context.asked.live / context.asked.threads) {}
};

inline const pattern_entry shift_entry{
    "shift", "all objects of one size go, then those of the next size come", {}, make_pattern<shift>};

}  // namespace heaplab::blowup
