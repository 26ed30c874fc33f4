#include "workloads/blowup/rounds.h"

namespace heaplab::blowup {
namespace {

class shift final : public rounds {
public:
  explicit shift(const run_context& context) : rounds(context, context.asked.live / context.asked.threads) {}
};

const registered<shift> entered{
    "shift", "sizes move on each round, so that memory kept by size is never asked for again"};

}  // namespace
}  // namespace heaplab::blowup
