// Patterns that make heaps hold far more memory than the program's peak of live bytes. The score is peak
// memory divided by peak live bytes: 1 is perfect. After the worst cases of Robson (1971, 1974), Wilson et
// al. (IWMM 1995), and the blow-up of Berger et al., Hoard (ASPLOS 2000).
#include <iterator>

#include "workloads/blowup/pattern.h"

namespace heaplab::blowup {
namespace {

class program final : public harness::team_workload {
public:
  program() { threads_ = asked_.threads; }

  harness::description describe() const override {
    return {"blowup", "patterns that make heaps hold more memory than was ever live",
            "blowup --pattern survivor --live-bytes 16MiB"};
  }

  void declare(harness::option_table& options) override {
    std::vector<std::string> names;
    std::string help;
    for (const auto& [name, entry] : patterns()) {
      names.push_back(name);
      help += (help.empty() ? "" : "; ") + name + ": " + entry.does;
    }
    options.choice("pattern", chosen_, names, help);
    harness::declare_threads(options, threads_, 10'000);
    options.size("live-bytes", asked_.live, {1 << 20, std::uint64_t{1} << 36},
                 "Bytes alive at the most, of all threads");
    harness::declare_rounds(options, asked_.rounds, 100'000);
    asked_.sizes.declare(options, {16, 1 << 18});
    options.count("stays", asked_.stays, {2, 1'000'000},
                  "With " + takers("stays") + ": one object in so many stays for good");
    options.count(
        "sizes", asked_.spread_sizes, {2, 10'000},
        "With " + takers("sizes") + ": so many sizes, evenly spaced, one object of each in a thread");
  }

  void check(const harness::option_table& options) override {
    asked_.threads = threads_;
    asked_.sizes.check();
    for (const std::string_view option : {"stays", "sizes"})
      if (options.given(option) && !takes(entry(), option))
        throw harness::usage_error("--" + std::string(option) + " needs --pattern " + takers(option));
    if (entry().check != nullptr) entry().check(asked_);
    if (asked_.live / threads_ < asked_.sizes.most)
      throw harness::usage_error("--live-bytes divided among --threads must not be below --max-size");
    harness::require_memory(4 * asked_.live, "four times --live-bytes");
  }

  harness::size_mix sizes() const override { return asked_.sizes; }

  void run(harness::measurement& measured) override {
    pattern_ = entry().make({asked_, measured, *this, total_});
    run_team(measured);
    score(measured);
    pattern_->release_rest();
  }

private:
  const pattern_entry& entry() const {
    return std::next(patterns().begin(), static_cast<std::ptrdiff_t>(chosen_))->second;
  }

  static bool takes(const pattern_entry& entry, std::string_view option) { return entry.option == option; }

  // "phases or survivor".
  static std::string takers(std::string_view option) {
    std::string names;
    for (const auto& [name, entry] : patterns())
      if (takes(entry, option)) names += (names.empty() ? "" : " or ") + name;
    return names;
  }

  // All threads are there, so that their stacks do not count.
  void started() override { before_ = measured_->read_memory().anonymous; }

  void run(unsigned thread) override { pattern_->run(thread); }

  void score(harness::measurement& measured) {
    const double peak = static_cast<double>(probes::process_memory().read().peak_anonymous()) -
                        static_cast<double>(probes::off_heap_pages_total() + before_);
    measured.add_metric("peak_live", static_cast<double>(total_.most()), "B");
    measured.add_metric("blowup", peak / static_cast<double>(total_.most()), "1");
  }

  std::size_t chosen_ =
      static_cast<std::size_t>(std::distance(patterns().begin(), patterns().find("survivor")));
  settings asked_;
  std::unique_ptr<pattern> pattern_;
  live_total total_;
  std::uint64_t before_ = 0;
};

}  // namespace
}  // namespace heaplab::blowup

int main(int argc, char** argv) {
  return heaplab::harness::run_program<heaplab::blowup::program>(argc, argv);
}
