// Utilization: Benchmark III of P0089. The card catalog/workloads/utilization.toml says how to read the
// results.
#include <cstddef>
#include <cstdint>
#include <span>

#include "workloads/harness/harness.h"
#include "workloads/harness/random_stream.h"
#include "workloads/local/buffer.h"
#include "workloads/local/dimensions.h"
#include "workloads/local/marked_block.h"
#include "workloads/local/strategy_table.h"

namespace {

using namespace heaplab;
using namespace heaplab::strategies;

class utilization final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {.name = "utilization",
            .summary = "few blocks in use at a time out of many allocated, under local allocators",
            .example = "utilization --strategy AS7 --total 64MiB --active 64KiB --size 1KiB",
            .times_calls = false};
  }

  void declare(harness::option_table& options) override {
    constexpr harness::option_table::count_range sizes{1, std::uint64_t{1} << 44};
    strategy_.declare(options);
    options.size("total", total_, sizes, "Bytes allocated in all");
    options.size("active", active_, sizes, "Bytes in use at a time");
    harness::declare_size(options, size_, sizes.most);
    options.size("least-size", least_size_, {0, sizes.most},
                 "Blocks have this to --size bytes, all as likely; 0: --size");
    options.flag("random-order", random_order_,
                 "Whether a block takes the place of any other, or of the oldest");
    options.size("buffer", buffer_bytes_, {0, sizes.most}, "Memory that a monotonic allocator begins with");
  }

  void check(const harness::option_table&) override {
    if (active_ > total_) throw harness::usage_error("--active must not exceed --total");
    if (size_ > active_) throw harness::usage_error("--size must not exceed --active");
    if (least_size_ > size_) throw harness::usage_error("--least-size must not exceed --size");
    strategy_.expect_destruction("which is nothing beside the blocks freed before");
    harness::require_memory(strategy_.keeps_all(size_) ? total_ : active_,
                            "blocks of --size that are not used again");
  }

  harness::size_mix sizes() const override { return {size_, size_}; }

  void run(harness::measurement& measured) override {
    if (is_mixed()) {
      mixed_ = harness::thread_arrays<filled>(1, slot_count());
    } else {
      slots_ = harness::thread_arrays<std::byte*>(1, slot_count());
    }
    seed_ = measured.seed();
    const buffer room(strategy_.takes_buffer() ? buffer_bytes_ : 0);
    sources_.buffer = room.bytes();
    run_team(measured);
    measured.add_metric("allocations", static_cast<double>(block_count()), "1");
    usage of{.accesses = static_cast<double>(block_count()),
             .footprint = static_cast<double>(slot_count() * size_)};
    of.asked = asked();
    add_dimensions(of, measured);
  }

private:
  // A block of any size, in a slot.
  struct filled {
    std::byte* block;
    std::uint64_t bytes;
  };

  // Whether there is more to know of a block than its place in the order.
  bool is_mixed() const { return least_size_ != 0 || random_order_; }
  std::uint64_t mean_size() const { return least_size_ == 0 ? size_ : (least_size_ + size_) / 2; }
  std::uint64_t slot_count() const { return active_ / mean_size(); }
  std::uint64_t block_count() const { return total_ / mean_size(); }

  requests asked() {
    if (is_mixed()) {
      recording_resource recorder;
      churn_mixed<std::pmr::memory_resource>(recorder);
      return recorder.recorded();
    }
    requests of_one_size;
    of_one_size.allocated(size_, slot_count());
    of_one_size.replaced(size_, block_count() - slot_count());
    of_one_size.deallocated(size_, slot_count());
    return of_one_size;
  }

  void run(unsigned) override {
    strategy_.with([this]<class Strategy>() {
      auto source = Strategy::make(sources_);
      if (is_mixed()) {
        churn_mixed(Strategy::reach(source));
      } else {
        churn(Strategy::reach(source));
      }
    });
  }

  // The mark of the block with this number; marks of neighbours differ.
  static std::byte mark(std::uint64_t number) { return std::byte{harness::stamp_of(number)}; }

  // Fills the slots, replaces the oldest block again and again, and empties the slots.
  template <class Handle>
  [[gnu::noinline]] void churn(Handle& source) {
    const std::span<std::byte*> slots = slots_[0];
    const std::uint64_t blocks = block_count();
    std::size_t slot = 0;
    const auto next = [&] { slot = slot + 1 == slots.size() ? 0 : slot + 1; };
    for (std::byte*& block : slots) block = make_marked(source, size_, mark(slot++));
    slot = 0;
    for (std::uint64_t i = slots.size(); i < blocks; ++i, next()) {
      end_marked(source, slots[slot], size_, mark(i - slots.size()));
      slots[slot] = make_marked(source, size_, mark(i));
    }
    for (std::uint64_t i = blocks - slots.size(); i < blocks; ++i, next())
      end_marked(source, slots[slot], size_, mark(i));
  }

  // The same with blocks of any size, each of which replaces the oldest or any other.
  template <class Handle>
  [[gnu::noinline]] void churn_mixed(Handle& source) {
    const std::span<filled> slots = mixed_[0];
    harness::random_stream draw(seed_);
    const auto fill = [&](filled& slot, std::size_t number) {
      slot.bytes = least_size_ == 0 ? size_ : draw.between(least_size_, size_);
      slot.block = make_marked(source, slot.bytes, mark(number));
    };
    for (std::size_t i = 0; i < slots.size(); ++i) fill(slots[i], i);
    for (std::uint64_t i = slots.size(); i < block_count(); ++i) {
      const std::size_t number = random_order_ ? draw.below(slots.size()) : i % slots.size();
      end_marked(source, slots[number].block, slots[number].bytes, mark(number));
      fill(slots[number], number);
    }
    for (std::size_t i = 0; i < slots.size(); ++i)
      end_marked(source, slots[i].block, slots[i].bytes, mark(i));
  }

  chosen_strategy strategy_;
  std::uint64_t total_ = std::uint64_t{1} << 30;
  std::uint64_t active_ = std::uint64_t{1} << 20;
  std::uint64_t size_ = 1024;
  std::uint64_t least_size_ = 0;
  bool random_order_ = false;
  std::uint64_t buffer_bytes_ = std::uint64_t{1} << 30;
  source_options sources_;
  harness::thread_arrays<std::byte*> slots_;
  harness::thread_arrays<filled> mixed_;
  std::uint64_t seed_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<utilization>(argc, argv);
}
