// Locality: Benchmark II of P0089. The card catalog/workloads/locality.toml lists where papers and programs
// disagree.
#include <cstdlib>
#include <memory>

#include "workloads/local/dimensions.h"
#include "workloads/local/subsystems.h"

namespace {

using namespace heaplab;
using namespace heaplab::strategies;

class locality final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {.name = "locality",
            .summary = "access to the lists of many subsystems after their elements were shuffled",
            .example = "locality --strategy AS7 --elements-total 65536 --subsystems 64 --shuffle-factor 5",
            .times_calls = false};
  }

  void declare(harness::option_table& options) override {
    constexpr harness::option_table::count_range counts{1, std::uint64_t{1} << 30};
    constexpr harness::option_table::count_range factors{1, 1 << 20};
    strategy_.declare(options);
    options.count("elements-total", elements_, counts, "Elements of all subsystems together");
    options.count("subsystems", subsystems_, counts, "Lists; each begins with its part of --elements-total");
    options.count("access-factor", passes_, factors, "Passes through a list before the next list's turn");
    options.count("repeat-factor", repeats_, factors, "Times that all lists have their turn");
    options.integer("shuffle-factor", shuffle_, {-1000, 1000},
                    "Times that every element is moved: before the access, or after it if negative");
  }

  void check(const harness::option_table&) override {
    if (elements_ % subsystems_ != 0) throw harness::usage_error("--subsystems must divide --elements-total");
    if (passes_ * repeats_ > most_increments)
      throw harness::usage_error("--access-factor times --repeat-factor must not exceed " +
                                 std::to_string(most_increments));
    strategy_.expect_destruction("and the end of the lists is not measured");
    harness::require_memory(needed_memory(), "--elements-total in --subsystems");
  }

  harness::size_mix sizes() const override { return {node_bytes, node_bytes}; }

  void run(harness::measurement& measured) override {
    run_team(measured);
    measured.add_metric("time", access_time_, "s");
    if (shuffle_ < 0) shuffle();
    made_->check(passes_ * repeats_);
    made_.reset();
    measured.add_metric("creation_time", creation_time_, "s");
    measured.add_metric("shuffle_time", shuffle_time_, "s");
    measured.add_metric("accesses", accesses(), "1");
    report_dimensions();
  }

private:
  // Limits the increments: values begin below 2^30 and stay below 2^31.
  static constexpr std::uint64_t most_increments = std::uint64_t{1} << 30;

  locality_job job() const { return {strategy_, elements_ / subsystems_, subsystems_}; }

  double accesses() const { return static_cast<double>(elements_ * passes_ * repeats_); }

  std::uint64_t needed_memory() const {
    const std::uint64_t moved = static_cast<std::uint64_t>(std::abs(shuffle_)) * elements_;
    const std::uint64_t nodes = strategy_.keeps_all(node_bytes) ? elements_ + moved : elements_;
    return nodes * (node_bytes + sizeof(void*)) + subsystems_ * strategy_.source_bytes();
  }

  void prepare(unsigned) override {
    creation_time_ = timed([this] {
      strategy_.with([this]<class Strategy>() { made_ = std::make_unique<subsystems_of<Strategy>>(job()); });
    });
    if (shuffle_ > 0) shuffle();
  }

  void run(unsigned) override {
    access_time_ = timed([this] { made_->access(passes_, repeats_); });
  }

  void shuffle() {
    harness::random_stream random(measured_->seed());
    const std::uint64_t rounds = static_cast<std::uint64_t>(std::abs(shuffle_)) * job().elements;
    shuffle_time_ = timed([&] { moved_ = made_->shuffle(rounds, random); });
  }

  template <class Work>
  double timed(Work work) const {
    const std::uint64_t begin = probes::read_ticks();
    work();
    return measured_->clock().seconds(probes::read_ticks() - begin);
  }

  // Covers the time from the creation to the end. The program leaves a list once in each repetition, or only
  // at the end if there is one list.
  void report_dimensions() {
    usage of{.accesses = accesses(),
             .transitions = subsystems_ == 1 ? 1 : static_cast<double>(repeats_),
             .footprint = static_cast<double>(elements_ * node_bytes)};
    of.asked.allocated(node_bytes, elements_);
    of.asked.replaced(node_bytes, moved_);
    of.asked.deallocated(node_bytes, elements_);
    add_dimensions(of, *measured_);
  }

  chosen_strategy strategy_;
  std::uint64_t elements_ = std::uint64_t{1} << 20;
  std::uint64_t subsystems_ = 1024;
  std::uint64_t passes_ = 8;
  std::uint64_t repeats_ = 4;
  std::int64_t shuffle_ = 5;
  std::unique_ptr<subsystems> made_;
  std::uint64_t moved_ = 0;
  double creation_time_ = 0;
  double shuffle_time_ = 0;
  double access_time_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<locality>(argc, argv);
}
