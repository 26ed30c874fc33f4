// Dimensions: one benchmark in which each of the five dimensions of P0089, section 5, has an option of its
// own. The card catalog/workloads/dimensions.toml says which.
#include "workloads/local/dimensions.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <span>

#include "workloads/harness/harness.h"
#include "workloads/harness/random_stream.h"
#include "workloads/local/marked_block.h"
#include "workloads/local/strategy_table.h"

namespace {

using namespace heaplab;
using namespace heaplab::strategies;

class dimensions final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {
        .name = "dimensions",
        .summary = "subsystems that replace and access blocks, with an option for each dimension of P0089",
        .example = "dimensions --strategy AS7 --accesses 1 --stay 1 --least-size 16 --threads 2",
        .times_calls = false};
  }

  void declare(harness::option_table& options) override {
    constexpr harness::option_table::count_range counts{1, 1 << 30};
    strategy_.declare(options);
    options.count("operations", operations_, counts, "Blocks that each thread allocates");
    options.count("subsystems", subsystems_, {1, 1 << 20},
                  "Subsystems of a thread, each with an allocator of its own");
    options.count("accesses", accesses_, {0, 1 << 20},
                  "Density: blocks accessed for each one that is allocated");
    harness::declare_size(options, size_, 1 << 20, 16);
    options.size("least-size", least_size_, {0, 1 << 20},
                 "Variation: blocks have this to --size bytes; 0: --size");
    options.count("stay", stay_, counts,
                  "Locality: blocks that are replaced before the next subsystem's turn");
    options.count("slots", slots_, counts, "Utilization: blocks of a subsystem in use at a time");
    harness::declare_threads(options, threads_);
  }

  void check(const harness::option_table&) override {
    if (least_size_ > size_) throw harness::usage_error("--least-size must not exceed --size");
    strategy_.expect_destruction("which is nothing beside the blocks freed before");
    const std::uint64_t kept = strategy_.keeps_all(size_) ? operations_ : slots_ * subsystems_;
    harness::require_memory(threads_ * (kept * size_ + subsystems_ * strategy_.source_bytes()),
                            "--slots in use");
  }

  harness::size_mix sizes() const override { return {least_size_ == 0 ? size_ : least_size_, size_}; }

  void run(harness::measurement& measured) override {
    blocks_ = harness::thread_arrays<filled>(threads_, subsystems_ * slots_);
    strategy_.with([]<class>() {});  // throws on the main thread, not later on a thread of the team
    run_team(measured);
    report(measured);
  }

private:
  struct filled {
    std::byte* block;
    std::uint64_t bytes;
    std::byte mark;
  };

  void run(unsigned thread) override {
    try {
      strategy_.with([&]<class Strategy>() {
        struct owner {
          typename Strategy::source_type source = Strategy::make({});
        };
        std::deque<owner> owners;
        for (std::uint64_t i = 0; i < subsystems_; ++i) owners.emplace_back();
        work(thread,
             [&](std::uint64_t subsystem) -> auto& { return Strategy::reach(owners[subsystem].source); });
      });
    } catch (const std::bad_alloc&) {
      harness::out_of_memory(size_);
    }
  }

  // Each subsystem in turn replaces `stay_` blocks, a random one each time, and accesses random ones.
  template <class SourceOf>
  [[gnu::noinline]] void work(unsigned thread, SourceOf source_of) {
    harness::random_stream draw(measured_->seed(), thread);
    std::uint64_t left = operations_;
    for (std::uint64_t subsystem = 0; left > 0; subsystem = (subsystem + 1) % subsystems_) {
      const std::span<filled> own = blocks_[thread].subspan(subsystem * slots_, slots_);
      for (std::uint64_t i = 0; i < stay_ && left > 0; ++i, --left) {
        replace(source_of(subsystem), own[draw.below(slots_)], draw, left);
        for (std::uint64_t seen = 0; seen < accesses_; ++seen) access(own[draw.below(slots_)]);
      }
    }
    for (std::uint64_t i = 0; i < subsystems_ * slots_; ++i) empty(source_of(i / slots_), blocks_[thread][i]);
  }

  template <class Source>
  void replace(Source& source, filled& slot, harness::random_stream& draw, std::uint64_t number) {
    empty(source, slot);
    slot.mark = std::byte{harness::stamp_of(number)};
    slot.bytes = least_size_ == 0 ? size_ : draw.between(least_size_, size_);
    slot.block = make_marked(source, slot.bytes, slot.mark);
  }

  template <class Source>
  static void empty(Source& source, filled& slot) {
    if (slot.block != nullptr) end_marked(source, slot.block, slot.bytes, slot.mark);
    slot.block = nullptr;
  }

  // Reads and writes the last byte of the block, which is never the marked one.
  static void access(const filled& slot) {
    if (slot.block == nullptr) return;
    std::byte& last = escape(slot.block[slot.bytes - 1]);
    last = std::byte{static_cast<unsigned char>(std::to_integer<unsigned>(last) + 1)};
  }

  void report(harness::measurement& measured) {
    recording_resource recorder;
    work(0, [&](std::uint64_t) -> std::pmr::memory_resource& { return recorder; });
    const double turns = static_cast<double>(operations_) / static_cast<double>(stay_);
    usage of{.asked = recorder.recorded(),
             .accesses = static_cast<double>(operations_ * (1 + accesses_)),
             .transitions = turns,
             .footprint = recorder.recorded().peak_bytes(),
             .threads = threads_};
    add_dimensions(of, measured);
  }

  chosen_strategy strategy_;
  std::uint64_t operations_ = 1 << 20;
  std::uint64_t subsystems_ = 16;
  std::uint64_t accesses_ = 8;
  std::uint64_t size_ = 256;
  std::uint64_t least_size_ = 0;
  std::uint64_t stay_ = 64;
  std::uint64_t slots_ = 64;
  harness::thread_arrays<filled> blocks_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<dimensions>(argc, argv);
}
