// Patterns that make heaps hold far more memory than the program's peak of live bytes. The score is peak
// memory divided by peak live bytes: 1 is perfect. After the worst cases of Robson (1971, 1974), Wilson et
// al. (IWMM 1995), and the blow-up of Berger et al., Hoard (ASPLOS 2000).
#include <algorithm>
#include <optional>
#include <utility>

#include "workloads/blowup/live_total.h"
#include "workloads/blowup/shrinking_pool.h"
#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

enum class pattern { generations, phases, pool, remote, shift, spread, survivor };

class blowup final : public harness::team_workload {
public:
  blowup() { threads_ = 2; }

  harness::description describe() const override {
    return {"blowup", "patterns that make heaps hold more memory than was ever live",
            "blowup --pattern survivor --live-bytes 16MiB"};
  }

  void declare(harness::option_table& options) override {
    options.choice(
        "pattern", pattern_,
        {{"generations", pattern::generations},
         {"phases", pattern::phases},
         {"pool", pattern::pool},
         {"remote", pattern::remote},
         {"shift", pattern::shift},
         {"spread", pattern::spread},
         {"survivor", pattern::survivor}},
        "New threads allocate what an old thread frees; threads pass from size to size, each at its own "
        "pace, and keep some objects at random; a pool of threads shrinks; one thread only allocates, "
        "another only frees; all of one size, then of the next; each of many threads holds one object of "
        "each of many sizes; or every so many-th object stays");
    harness::declare_threads(options, threads_, 10'000);
    options.size("live-bytes", live_, {1 << 20, std::uint64_t{1} << 36},
                 "Bytes alive at the most, of all threads");
    harness::declare_rounds(options, rounds_, 100'000);
    sizes_.declare(options, {16, 1 << 18});
    options.count("stays", stays_, {2, 1'000'000},
                  "With phases and survivor: one object in so many stays for good");
    options.count("sizes", spread_sizes_, {2, 10'000},
                  "With spread: so many sizes, evenly spaced, one object of each in a thread");
  }

  void check(const harness::option_table& options) override {
    sizes_.check();
    if (options.given("stays") && pattern_ != pattern::survivor && pattern_ != pattern::phases)
      throw harness::usage_error("--stays needs --pattern phases or survivor");
    if (options.given("sizes") && pattern_ != pattern::spread)
      throw harness::usage_error("--sizes needs --pattern spread");
    if (pattern_ == pattern::remote && threads_ % 2 != 0)
      throw harness::usage_error("--pattern remote needs an even number of --threads");
    if (live_ / threads_ < sizes_.most)
      throw harness::usage_error("--live-bytes divided among --threads must not be below --max-size");
    harness::require_memory(4 * live_, "four times --live-bytes");
  }

  harness::size_mix sizes() const override { return sizes_; }

  void run(harness::measurement& measured) override {
    if (pattern_ == pattern::pool) pool_.emplace(measured, total_, threads_, sizes_, live_, rounds_);
    const std::uint64_t most = live_of_each() / sizes_.least;
    filled_ = harness::thread_arrays<harness::block>(threads_, pool_ ? 0
                                                               : pattern_ == pattern::spread
                                                                   ? std::min(most, spread_sizes_)
                                                                   : most);
    counters_ = harness::thread_arrays<progress>(threads_, 1);
    probes::barrier meeting(static_cast<unsigned>(threads_));
    meeting_ = &meeting;
    run_team(measured);
    score(measured);
    release_rest();
  }

private:
  struct progress {
    std::size_t filled = 0;
    std::size_t survivors = 0;  // the first of the filled, which stay for good
    std::uint64_t live = 0;
    std::int64_t untold = 0;  // by how much `live` has changed since total_ was told
  };

  // All threads are there, so that their stacks do not count.
  void started() override { before_ = measured_->read_memory().anonymous; }

  void run(unsigned thread) override {
    if (pattern_ == pattern::generations) return run_generations(thread);
    if (pattern_ == pattern::pool) return run_in_pool(thread);
    if (pattern_ == pattern::phases) return run_phases(thread);
    if (pattern_ == pattern::spread) return run_spread(thread);
    measured_->with_heap(thread, [&](auto& heap) {
      for (std::uint64_t round = 0; round < rounds_; ++round) {
        if (allocates(thread)) fill(heap, thread, size_of_round(round));
        meeting_->wait();
        if (pattern_ == pattern::survivor)
          empty(heap, thread, [&](std::size_t i) { return i % stays_ == 0; });
        else if (pattern_ != pattern::remote)
          empty(heap, thread, none_stays);
        else if (!allocates(thread))
          empty(heap, thread - 1, none_stays);
        meeting_->wait();
      }
    });
  }

  // --- generations ---

  // This thread frees half of all objects, chosen at random, and never allocates. In each round a new thread
  // allocates objects in their place.
  void run_generations(unsigned thread) {
    harness::random_stream random(measured_->seed(), thread);
    const auto next = [&] { live_one_generation(thread, random); };
    for (std::uint64_t round = 0; round < rounds_ && run_in_thread(next); ++round) {
      const double percent = round + 1 < rounds_ ? 50 : 100;
      measured_->with_heap(thread, [&](auto& heap) { evict(heap, thread, percent, random); });
    }
  }

  void live_one_generation(unsigned parent, harness::random_stream& random) {
    measured_->with_heap(parent, [&](auto& heap) {
      progress& of = counters_[parent].front();
      const std::span<harness::block> all = filled_[parent];
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].start != nullptr) continue;
        const std::uint64_t bytes = sizes_.logarithmic(random);
        if (of.live + bytes > live_of_each()) break;
        all[i] = harness::allocate_stamped(heap, bytes, harness::stamp_of(i));
        fill_pages(all[i], harness::stamp_of(i));
        count(of, static_cast<std::int64_t>(bytes));
      }
      tell(of);
    });
  }

  template <class Heap>
  void evict(Heap& heap, unsigned thread, double percent, harness::random_stream& random) {
    const std::span<harness::block> all = filled_[thread];
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].start == nullptr || !random.chance(percent)) continue;
      count(counters_[thread].front(), -static_cast<std::int64_t>(all[i].bytes));
      harness::release_stamped(heap, std::exchange(all[i], {}), harness::stamp_of(i));
    }
  }

  // --- pool ---

  // The threads of the team exist for the whole run; each waits for one of the pool, which ends earlier.
  void run_in_pool(unsigned thread) {
    const auto live = [&] { pool_->live(thread); };
    run_in_thread(live);
  }

  // --- phases and spread ---

  // Sizes grow by four fifths from round to round, and in the first by an eighth from thread to thread. No
  // thread waits for another.
  void run_phases(unsigned thread) {
    harness::random_stream random(measured_->seed(), thread);
    measured_->with_heap(thread, [&](auto& heap) {
      for (std::uint64_t round = 0; round < rounds_; ++round) {
        fill(heap, thread, size_of_round(5 * round + thread));
        empty(heap, thread, [&](std::size_t) { return random.below(stays_) == 0; });
      }
    });
  }

  void run_spread(unsigned thread) {
    progress& own = counters_[thread].front();
    measured_->with_heap(thread, [&](auto& heap) {
      for (std::uint64_t i = 0; i < spread_sizes_; ++i) {
        const std::uint64_t bytes = sizes_.least + (sizes_.most - sizes_.least) * i / (spread_sizes_ - 1);
        if (own.live + bytes > live_of_each()) break;
        add(heap, thread, bytes);
      }
      tell(own);
    });
  }

  // --- the other patterns ---

  // With the pattern `remote`, every odd thread only frees the objects that the thread before it has
  // allocated.
  bool allocates(unsigned thread) const { return pattern_ != pattern::remote || thread % 2 == 0; }

  std::uint64_t live_of_each() const {
    return live_ / (pattern_ == pattern::remote ? threads_ / 2 : threads_);
  }

  // Sizes grow by an eighth from least to most, and then start again. The pattern `remote` has one size, so
  // that remote frees are the only cause of blow-up.
  std::uint64_t size_of_round(std::uint64_t round) const {
    if (pattern_ == pattern::remote) return sizes_.least;
    std::uint64_t bytes = sizes_.least;
    for (std::uint64_t i = 0; i < round; ++i) {
      bytes += std::max<std::uint64_t>(bytes / 8, 1);
      if (bytes > sizes_.most) bytes = sizes_.least;
    }
    return bytes;
  }

  template <class Heap>
  void fill(Heap& heap, unsigned thread, std::uint64_t bytes) {
    progress& own = counters_[thread].front();
    while (own.live + bytes <= live_of_each()) add(heap, thread, bytes);
    tell(own);
  }

  template <class Heap>
  void add(Heap& heap, unsigned thread, std::uint64_t bytes) {
    progress& own = counters_[thread].front();
    harness::block& fresh = filled_[thread][own.filled];
    fresh = harness::allocate_stamped(heap, bytes, harness::stamp_of(own.filled));
    fill_pages(fresh, harness::stamp_of(own.filled++));
    count(own, static_cast<std::int64_t>(bytes));
  }

  // Writes to every page of a large object, so that live bytes are resident.
  static void fill_pages(harness::block fresh, std::uint8_t stamp) {
    constexpr std::size_t page = 4096;
    for (std::size_t at = page; at < fresh.bytes; at += page)
      static_cast<std::uint8_t*>(fresh.start)[at] = stamp;
  }

  static bool none_stays(std::size_t) { return false; }

  // Frees the objects of this round but for those that stay for good; stays(i) says whether number i does.
  template <class Heap, class Stays>
  void empty(Heap& heap, unsigned thread, Stays&& stays) {
    progress& own = counters_[thread].front();
    own.survivors = free_from(heap, thread, own.survivors, stays);
  }

  // Frees the objects from number `first` on for which stays(number - first) is false, and moves the others
  // together. Returns how many objects there are.
  template <class Heap, class Stays>
  std::size_t free_from(Heap& heap, unsigned thread, std::size_t first, Stays&& stays) {
    progress& own = counters_[thread].front();
    const std::span<harness::block> all = filled_[thread];
    std::size_t kept = first;
    for (std::size_t i = first; i < own.filled; ++i) {
      const harness::block one = all[i];
      if (stays(i - first)) {
        harness::expect_stamp(one, harness::stamp_of(i));
        harness::write_stamp(one, harness::stamp_of(kept));
        all[kept++] = one;
      } else {
        count(own, -static_cast<std::int64_t>(one.bytes));
        harness::release_stamped(heap, one, harness::stamp_of(i));
      }
    }
    tell(own);
    return own.filled = kept;
  }

  // --- live bytes ---

  // Threads tell the total now and then, so that the account costs little time and misses little.
  void count(progress& own, std::int64_t change) {
    constexpr std::int64_t step = 64 << 10;
    own.live += static_cast<std::uint64_t>(change);
    own.untold += change;
    if (own.untold > step || own.untold < -step) tell(own);
  }

  void tell(progress& own) { total_.add(std::exchange(own.untold, 0)); }

  void score(harness::measurement& measured) {
    const double peak = static_cast<double>(probes::process_memory().read().peak_anonymous()) -
                        static_cast<double>(probes::off_heap_pages_total() + before_);
    measured.add_metric("peak_live", static_cast<double>(total_.most()), "B");
    measured.add_metric("blowup", peak / static_cast<double>(total_.most()), "1");
  }

  void release_rest() {
    if (pool_) pool_->release_all();
    harness::plain_heap heap;
    for (unsigned thread = 0; thread < threads_; ++thread)
      if (pattern_ != pattern::generations) free_from(heap, thread, 0, none_stays);
  }

  pattern pattern_ = pattern::survivor;
  std::uint64_t live_ = std::uint64_t{64} << 20;
  std::uint64_t rounds_ = 60;
  harness::size_mix sizes_{64, 8192};
  std::uint64_t stays_ = 500;
  std::uint64_t spread_sizes_ = 50;
  harness::thread_arrays<harness::block> filled_;
  harness::thread_arrays<progress> counters_;
  live_total total_;
  std::uint64_t before_ = 0;
  std::optional<shrinking_pool> pool_;
  probes::barrier* meeting_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<blowup>(argc, argv);
}
