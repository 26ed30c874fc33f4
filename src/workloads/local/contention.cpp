// Contention: Benchmark IV of P0089, with threads. The card catalog/workloads/contention.toml lists where
// papers and programs disagree.
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "workloads/harness/harness.h"
#include "workloads/harness/short_threads.h"
#include "workloads/local/buffer.h"
#include "workloads/local/dimensions.h"
#include "workloads/local/marked_block.h"
#include "workloads/local/strategy_table.h"

namespace {

using namespace heaplab;
using namespace heaplab::strategies;

class contention final : public harness::workload {
public:
  harness::description describe() const override {
    return {.name = "contention",
            .summary = "pairs of allocate and deallocate in threads, each with a local allocator of its own",
            .example = "contention --strategy AS7 --threads 2 --allocations 32768",
            .times_calls = false};
  }

  void declare(harness::option_table& options) override {
    strategy_.declare(options);
    options.count("allocations", allocations_, {1, std::uint64_t{1} << 40},
                  "Pairs of allocate and deallocate of each thread after each start");
    harness::declare_size(options, size_, std::uint64_t{1} << 30);
    harness::declare_threads(options, threads_);
    options.count("restarts", rounds_, {1, 1'000'000},
                  "Times the threads are started, with fresh allocators");
    options.flag("initial-buffer", initial_buffer_,
                 "Whether a monotonic allocator begins with a buffer for all its blocks");
  }

  void check(const harness::option_table&) override {
    strategy_.expect_destruction("which is nothing beside the blocks freed before");
    harness::require_memory(threads_ * (strategy_.keeps_all(size_) ? room_of_thread() : held_blocks * size_),
                            "--threads with blocks");
  }

  harness::size_mix sizes() const override { return {size_, size_}; }

  void run(harness::measurement& measured) override {
    strategy_.with([]<class>() {});  // throws on the main thread, not later on a thread of the team
    const bool buffered = initial_buffer_ && strategy_.takes_buffer();
    const buffer rooms(buffered ? threads_ * room_of_thread() : 0);
    workers_ = harness::thread_arrays<worker>(1, threads_);
    for (std::size_t i = 0; i < threads_; ++i) {
      workers_[0][i].work = this;
      if (buffered) workers_[0][i].room = rooms.bytes().subspan(i * room_of_thread(), room_of_thread());
    }
    measured.prepare_threads(1);
    measured.age_heap(0);
    measured.start();
    harness::clocked([this] {
      for (std::uint64_t round = 0; round < rounds_; ++round) run_threads();
    });
    measured.stop();
    report(measured);
  }

private:
  struct worker {
    contention* work = nullptr;
    std::span<std::byte> room;
    pthread_t thread{};
  };

  // Number of blocks that each thread holds during a round, to detect that another thread gets the same
  // memory.
  static constexpr std::size_t held_blocks = 32;
  static std::byte held_mark(std::size_t number) { return std::byte{harness::stamp_of(number)}; }

  std::uint64_t room_of_thread() const {
    return (allocations_ + held_blocks) * align_up(size_, harness::required_alignment(size_));
  }

  void run_threads() {
    const std::span<worker> workers = workers_[0];
    std::size_t started = 0;
    const auto join = [&] {
      while (started > 0) pthread_join(workers[--started].thread, nullptr);
    };
    try {
      for (; started < workers.size(); ++started)
        workers[started].thread = harness::start_thread(enter, &workers[started]);
    } catch (const harness::run_error&) {
      join();
      throw;
    }
    join();
  }

  static void* enter(void* argument) {
    const worker& own = *static_cast<worker*>(argument);
    try {
      harness::clocked([&] {
        own.work->strategy_.with([&]<class Strategy>() {
          auto source = Strategy::make({.buffer = own.room});
          own.work->churn(Strategy::reach(source));
        });
      });
    } catch (const std::bad_alloc&) {
      harness::out_of_memory(own.work->size_);
    }
    return nullptr;
  }

  template <class Handle>
  [[gnu::noinline]] void churn(Handle& source) const {
    std::array<std::byte*, held_blocks> held;
    for (std::size_t i = 0; i < held.size(); ++i) held[i] = make_marked(source, size_, held_mark(i));
    for (std::uint64_t i = 0; i < allocations_; ++i)
      end_marked(source, make_marked(source, size_, block_mark), size_, block_mark);
    for (std::size_t i = 0; i < held.size(); ++i) end_marked(source, held[i], size_, held_mark(i));
  }

  void report(harness::measurement& measured) const {
    measured.add_metric("pairs", static_cast<double>(threads_ * rounds_ * allocations_), "1");
    usage of{.accesses = static_cast<double>(allocations_),
             .footprint = static_cast<double>(size_),
             .threads = threads_};
    of.asked.allocated(size_);
    of.asked.replaced(size_, allocations_ - 1);
    of.asked.deallocated(size_);
    add_dimensions(of, measured);
  }

  static constexpr std::byte block_mark{0xff};

  chosen_strategy strategy_;
  std::uint64_t allocations_ = std::uint64_t{1} << 15;
  std::uint64_t size_ = 64;
  std::uint64_t threads_ = 1;
  std::uint64_t rounds_ = 10;
  bool initial_buffer_ = true;
  harness::thread_arrays<worker> workers_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<contention>(argc, argv);
}
