#include "workloads/blowup/rounds.h"

namespace heaplab::blowup {
namespace {

// Every odd thread only frees the objects that the thread before it has allocated. There is one size, so that
// remote frees are the only cause of blow-up.
class remote final : public rounds {
public:
  explicit remote(const run_context& context)
      : rounds(context, context.asked.live / (context.asked.threads / 2)) {}

  static void check(const settings& asked) {
    if (asked.threads % 2 != 0)
      throw harness::usage_error("--pattern remote needs an even number of --threads");
  }

private:
  std::uint64_t bytes_in(std::uint64_t) const override { return context_.asked.sizes.least; }
  bool allocates(unsigned thread) const override { return thread % 2 == 0; }
  bool frees(unsigned thread) const override { return !allocates(thread); }
  unsigned frees_those_of(unsigned thread) const override { return thread - 1; }
};

const registered<remote> entered{"remote", "frees never reach the allocating thread", "", remote::check};

}  // namespace
}  // namespace heaplab::blowup
