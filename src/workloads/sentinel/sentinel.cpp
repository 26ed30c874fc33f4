// A point in the space of ways to use a heap: sizes, how many objects live, in which order they die, in how
// many threads, how many are freed by others, what is written into them, and pauses. The suite `sentinel` is
// sixty such points, which a rule chooses (research/sentinel.py).
#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

enum class death { random, oldest, newest, together };
enum class contents { nothing, zeros, data };

class sentinel final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"sentinel", "a point in the space of ways to use a heap",
            "sentinel --threads 2 --death newest --passed-on 10% --contents zeros"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_, 512);
    harness::declare_live_objects(options, objects_, {2, 8'000'000});  // all objects have a number of 32 bits
    options.count("replacements", replacements_, {1, 10'000'000'000}, "Objects replaced by each thread");
    sizes_.declare(options);
    options.choice("death", death_,
                   {{"random", death::random},
                    {"oldest", death::oldest},
                    {"newest", death::newest},
                    {"together", death::together}},
                   "Which object dies: any, the oldest, the newest half in reverse order, or all together");
    options.percent("passed-on", passed_on_,
                    "Objects that are swapped through an array of all threads before they die");
    options.choice("contents", contents_,
                   {{"nothing", contents::nothing}, {"zeros", contents::zeros}, {"data", contents::data}},
                   "What is written to every byte of an object, and checked at both its ends");
    options.duration("rest", rest_, {0, 10}, "Each thread pauses so long after every eighth of its work");
  }

  void check(const harness::option_table&) override {
    sizes_.check();
    harness::require_memory(
        static_cast<std::uint64_t>(static_cast<double>(threads_ * objects_ + passing()) * sizes_.mean()),
        "--live-objects in all --threads");
  }

  harness::size_mix sizes() const override { return sizes_.bounds(); }

  void run(harness::measurement& measured) override {
    const std::uint64_t all = threads_ * objects_ + passing();
    objects_of_all_ = harness::thread_arrays<object>(1, all);
    passing_ = harness::thread_arrays<passing_place>(1, passing());
    own_ = harness::thread_arrays<std::uint32_t>(threads_, objects_);
    sizes_of_ = harness::thread_arrays<std::uint32_t>(threads_, harness::size_cycle::length);
    of_others_ = harness::thread_arrays<std::uint64_t>(threads_, 1);
    std::uint32_t next = 0;
    for (unsigned thread = 0; thread < threads_; ++thread)
      for (std::uint32_t& number : own_[thread]) number = next++;
    // relaxed: the threads start later.
    for (passing_place& place : passing_[0]) place.number.store(next++, std::memory_order_relaxed);

    run_team(measured);
    measured.add_metric("freed_by_others", of_others_.total(), "1");
    measured.add_metric("pairs", static_cast<double>(threads_ * replacements_), "1");
    harness::plain_heap heap;
    for (std::uint32_t number = 0; number < next; ++number) end_life(heap, number);
  }

private:
  static constexpr std::uint64_t most_passing = 1'000;
  static constexpr unsigned rests = 8;

  // Threads and shared places hold indices of objects, and a swap exchanges two indices. Each index stands in
  // one thread's array or in one shared place, so that no two threads use an object at a time.
  struct object {
    harness::block held;  // null before its first life and between two
    unsigned allocated_by = 0;
  };
  struct alignas(cache_line_bytes) passing_place {
    atomic<std::uint32_t> number;
  };

  // One thread at work.
  template <class Heap>
  struct worker {
    sentinel& all;
    Heap& heap;
    unsigned thread;
    harness::random_stream random;
    harness::size_cycle sizes;
    std::span<std::uint32_t> own;
    std::uint64_t begun = 0, of_others = 0;

    bool is_done() const { return begun >= all.replacements_; }

    void begin(std::uint64_t index) {
      all.begin_life(heap, own[index], sizes.next(), thread);
      if (++begun % all.part() == 0 && all.rest_ > 0) harness::sleep_for(all.rest_);
    }

    void end(std::uint64_t index) {
      if (all.passed_on_ > 0 && random.chance(all.passed_on_)) own[index] = all.pass_on(own[index], random);
      const object& ended = all.objects_of_all_[0][own[index]];
      of_others += ended.held.start != nullptr && ended.allocated_by != thread;
      all.end_life(heap, own[index]);
    }

    void replace(std::uint64_t index) {
      end(index);
      begin(index);
    }

    // The objects from `first` on are allocated and die, again and again.
    void cycle(std::uint64_t first, bool newest_first) {
      while (!is_done()) {
        for (std::uint64_t index = first; index < own.size(); ++index) begin(index);
        for (std::uint64_t index = first; index < own.size(); ++index)
          end(newest_first ? first + own.size() - 1 - index : index);
      }
    }

    void work() {
      switch (all.death_) {
        case death::random:
          while (!is_done()) replace(random.below(own.size()));
          break;
        case death::oldest:
          for (std::uint64_t index = 0; !is_done(); index = (index + 1) % own.size()) replace(index);
          break;
        case death::newest:
          for (std::uint64_t index = 0; index < own.size() / 2; ++index) begin(index);
          cycle(own.size() / 2, true);
          break;
        case death::together:
          cycle(0, false);
          break;
      }
    }
  };

  std::uint64_t passing() const { return passed_on_ > 0 ? std::min(objects_, most_passing) : 0; }
  std::uint64_t part() const { return std::max<std::uint64_t>(replacements_ / rests, 1); }

  void prepare(unsigned thread) override {
    sizes_.draw(sizes_of_[thread], harness::random_stream(measured_->seed(), thread));
  }

  void run(unsigned thread) override {
    measured_->with_heap(thread, [&](auto& heap) {
      worker<std::remove_reference_t<decltype(heap)>> player{
          .all = *this,
          .heap = heap,
          .thread = thread,
          .random = harness::random_stream(measured_->seed() + 1, thread),
          .sizes = harness::size_cycle(sizes_of_[thread]),
          .own = own_[thread]};
      player.work();
      of_others_[thread].front() = player.of_others;
    });
  }

  // acq_rel pairs with itself: who takes a number sees the object that belongs to it.
  std::uint32_t pass_on(std::uint32_t number, harness::random_stream& random) {
    return passing_[0][random.below(passing_[0].size())].number.exchange(number, std::memory_order_acq_rel);
  }

  std::uint8_t stamp_of(std::uint32_t number) const {
    return contents_ == contents::zeros ? 0 : harness::stamp_of(number);
  }

  template <class Heap>
  void begin_life(Heap& heap, std::uint32_t number, std::size_t bytes, unsigned thread) {
    const harness::block fresh{heap.allocate(bytes), bytes};
    if (!is_aligned(fresh.start, harness::required_alignment(bytes))) [[unlikely]]
      harness::broken_block(fresh, "is not aligned");
    if (contents_ != contents::nothing) harness::fill_with_stamp(fresh, stamp_of(number));
    objects_of_all_[0][number] = {fresh, thread};
  }

  // The object may have no life.
  template <class Heap>
  void end_life(Heap& heap, std::uint32_t number) {
    const harness::block held = std::exchange(objects_of_all_[0][number].held, {});
    if (held.start == nullptr) return;
    if (contents_ != contents::nothing) harness::expect_stamp(held, stamp_of(number));
    heap.release(held.start);
  }

  std::uint64_t objects_ = 1000;
  std::uint64_t replacements_ = 1'000'000;
  harness::stepped_sizes sizes_{{8, 16 << 10}, 8, harness::size_distribution::doublings};
  death death_ = death::random;
  double passed_on_ = 0;
  contents contents_ = contents::data;
  double rest_ = 0;  // seconds
  harness::thread_arrays<object> objects_of_all_;
  harness::thread_arrays<passing_place> passing_;
  harness::thread_arrays<std::uint32_t> own_;
  harness::thread_arrays<std::uint32_t> sizes_of_;
  harness::thread_arrays<std::uint64_t> of_others_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<sentinel>(argc, argv);
}
