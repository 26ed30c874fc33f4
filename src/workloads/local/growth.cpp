// Growth: Benchmark I of P0089, and with --fragments Benchmark V of P0213. The card
// catalog/workloads/growth.toml lists where papers and programs disagree.
#include "workloads/local/growth.h"

#include <algorithm>
#include <string>

#include "workloads/harness/harness.h"
#include "workloads/local/buffer.h"
#include "workloads/local/dimensions.h"
#include "workloads/local/fragments.h"
#include "workloads/local/watchdog.h"
#include "workloads/local/watching.h"

namespace {

using namespace heaplab;
using namespace heaplab::strategies;

class growth final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {.name = "growth",
            .summary = "data structures made, filled and ended, under local allocators",
            .example = "growth --strategy AS4 --structure DS2 --elements 256",
            .times_calls = false};
  }

  void declare(harness::option_table& options) override {
    strategy_.declare(options);
    options.choice("structure", structure_, structures(), "What is made");
    options.count("elements", elements_, {64, 65536}, "Elements of a structure");
    options.count("operations", operations_, {64, std::uint64_t{1} << 40},
                  "Leaves in all; a structure has --elements of them, from DS5 on 128 times as many");
    options.size("buffer", buffer_bytes_, {0, std::uint64_t{1} << 44},
                 "Memory that a monotonic allocator begins with");
    options.choice("chunk-growth", chunk_growth_, {"geometric", "doubling"},
                   "How chunks grow that AS3 to AS14 ask for when the buffer is used up");
    fragments_.declare(options);
  }

  void check(const harness::option_table&) override {
    if (operations_ < leaves())
      throw harness::usage_error("--operations: one structure has " + std::to_string(leaves()) +
                                 " leaves, and no fewer are possible");
    harness::require_memory(needed_memory(), "a structure of --elements");
  }

  harness::size_mix sizes() const override { return {16, 1024}; }

  void run(harness::measurement& measured) override {
    const texts leaves_from(measured.seed());
    const buffer room(strategy_.takes_buffer() ? buffer_bytes_ : 0);
    const local::growth chunks[] = {local::growth::geometric, local::growth::doubling};
    const growth_job job{
        strategy_, {.buffer = room.bytes(), .chunk_growth = chunks[chunk_growth_]}, elements_, leaves_from};
    const std::unique_ptr<grower> made = make(job);
    grower_ = made.get();
    const watchdog watching(seconds_at_most());
    fragments_.allocate(measured.seed());
    run_team(measured);
    grower_->check();
    watch_heap(job);
    fragments_.release();
    measured.add_metric("repetitions", static_cast<double>(repetitions()), "1");
    recording_resource recorder;
    grower_->make_from(recorder);
    const requests& asked = recorder.recorded();
    add_dimensions(
        {.asked = asked, .accesses = static_cast<double>(leaves()), .footprint = asked.peak_bytes()},
        measured);
  }

private:
  static constexpr std::size_t structure_count = 12;

  static std::vector<std::string> structures() {
    std::vector<std::string> words;
    for (std::size_t number = 1; number <= structure_count; ++number)
      words.push_back("DS" + std::to_string(number));
    return words;
  }

  bool is_nested() const { return structure_ >= 4; }
  std::uint64_t leaves() const { return elements_ * (is_nested() ? inner_count : 1); }
  std::uint64_t repetitions() const { return operations_ / leaves(); }

  // Limit of processor time: some hundred times the time that a present machine needs.
  std::uint64_t seconds_at_most() const { return 10 + operations_ / 50'000; }

  // Detects blocks that overlap or are misaligned, even if the structure is not harmed. The job is limited to
  // some MiB, because every block is accounted for.
  void watch_heap(growth_job job) const {
    job.elements = std::min<std::uint64_t>(job.elements, is_nested() ? 64 : 8192);
    watching_resource watched;
    make(job)->make_from(watched);
  }

  std::unique_ptr<grower> make(const growth_job& job) const {
    const std::uint64_t number = structure_ + 1;
    if (number <= 4) return make_flat(number, job);
    return number <= 8 ? make_vector_of(number, job) : make_set_of(number, job);
  }

  // Bytes of the structure, including a heap's overhead, and of the fragments.
  std::uint64_t needed_memory() const {
    const bool in_sets = structure_ % 4 >= 2;
    const bool of_texts = structure_ % 2 == 1;
    const std::uint64_t text = 40 + (texts::least + texts::most) / 2 + 24;
    const std::uint64_t number = in_sets ? 8 : 4;
    const std::uint64_t node = in_sets ? 40 : 0;
    const std::uint64_t inner = is_nested() ? elements_ * 160 : 0;
    return leaves() * ((of_texts ? text : number) + node) + inner + fragments_.bytes();
  }

  void run(unsigned) override { grower_->repeat(repetitions()); }

  chosen_strategy strategy_;
  std::size_t structure_ = 0;
  std::size_t chunk_growth_ = 0;
  std::uint64_t elements_ = 1024;
  std::uint64_t operations_ = std::uint64_t{1} << 20;
  std::uint64_t buffer_bytes_ = std::uint64_t{1} << 30;
  fragments fragments_;
  grower* grower_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<growth>(argc, argv);
}
