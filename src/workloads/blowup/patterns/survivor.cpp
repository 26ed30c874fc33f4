#include "workloads/blowup/rounds.h"

namespace heaplab::blowup {
namespace {

class survivor final : public rounds {
public:
  explicit survivor(const run_context& context)
      : rounds(context, context.asked.live / context.asked.threads) {}

private:
  bool stays(std::size_t i) const override { return i % context_.asked.stays == 0; }
};

const registered<survivor> entered{
    "survivor", "as shift, but one object in many stays, and pins what lies around it", "stays"};

}  // namespace
}  // namespace heaplab::blowup
