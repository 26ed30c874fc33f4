#pragma once

#include "workloads/blowup/rounds.h"

namespace heaplab::blowup {

class survivor final : public rounds {
public:
  explicit survivor(const run_context& context)
      : rounds(context, context.asked.live / context.asked.threads) {}

private:
  bool stays(std::size_t i) const override { return i % context_.asked.stays == 0; }
};

inline const pattern_entry survivor_entry{
    "survivor", "as shift, but every so many-th object stays for good", {"stays"}, make_pattern<survivor>};

}  // namespace heaplab::blowup
