// Patterns that make heaps hold far more memory than the program's peak of live bytes. The score is peak
// memory divided by peak live bytes: 1 is perfect. After the worst cases of Robson (1971, 1974), Wilson et
// al. (IWMM 1995), and the blow-up of Berger et al., Hoard (ASPLOS 2000).
#include <optional>

#include "workloads/blowup/shrinking_pool.h"
#include "workloads/harness/harness.h"
#include "workloads/harness/short_threads.h"

namespace {

using namespace heaplab;

enum class pattern { generations, pool, remote, shift, survivor };

class blowup final : public harness::workload, probes::team_task {
public:
  harness::description describe() const override {
    return {"blowup", "patterns that make heaps hold more memory than was ever live",
            "blowup --pattern survivor --live-bytes 16MiB"};
  }

  void declare(harness::option_table& options) override {
    options.choice(
        "pattern", pattern_,
        {{"generations", pattern::generations},
         {"pool", pattern::pool},
         {"remote", pattern::remote},
         {"shift", pattern::shift},
         {"survivor", pattern::survivor}},
        "New threads allocate what an old thread frees; a pool of threads shrinks; one thread only "
        "allocates, another only frees; all of one size, then of the next; or one object in many "
        "stays");
    harness::declare_threads(options, threads_, 256);
    options.size("live-bytes", live_, {1 << 20, std::uint64_t{1} << 36},
                 "Bytes alive at the most, of all threads");
    harness::declare_rounds(options, rounds_, 100'000);
    sizes_.declare(options, {16, 1 << 18});
    options.count("stays", stays_, {2, 1'000'000}, "With survivor: one object in so many stays for good");
  }

  void check(const harness::option_table& options) override {
    sizes_.check();
    if (options.given("stays") && pattern_ != pattern::survivor)
      throw harness::usage_error("--stays needs --pattern survivor");
    if (pattern_ == pattern::remote && threads_ % 2 != 0)
      throw harness::usage_error("--pattern remote needs an even number of --threads");
    if (live_ / threads_ < sizes_.most)
      throw harness::usage_error("--live-bytes divided among --threads must not be below --max-size");
    harness::require_memory(4 * live_, "four times --live-bytes");
  }

  harness::size_mix sizes() const override { return sizes_; }

  void run(harness::measurement& measured) override {
    measured_ = &measured;
    if (pattern_ == pattern::pool) pool_.emplace(measured, threads_, sizes_, live_, rounds_);
    const std::uint64_t each = pool_ ? 0 : live_of_each();
    filled_ = harness::thread_arrays<harness::block>(threads_, each / sizes_.least);
    survivors_ = harness::thread_arrays<harness::block>(threads_, each / sizes_.least);
    counters_ = harness::thread_arrays<progress>(threads_, 1);
    probes::barrier meeting(static_cast<unsigned>(threads_));
    meeting_ = &meeting;
    const std::uint64_t before = measured.read_memory().anonymous;
    measured.run_team(static_cast<unsigned>(threads_), *this);
    if (pool_) counters_[0].front().most_live = pool_->most_live();
    for (unsigned thread = 0; thread < threads_; ++thread)
      measured.verify(!counters_[thread].front().refused, "every thread could be started");
    score(measured, before);
    release_survivors();
  }

private:
  struct progress {
    std::size_t filled = 0;
    std::size_t survivors = 0;
    std::uint64_t survivor_bytes = 0;
    std::uint64_t live = 0;
    std::uint64_t most_live = 0;
    bool refused = false;
  };

  void run(unsigned thread) override {
    if (pattern_ == pattern::generations) return run_generations(thread);
    if (pattern_ == pattern::pool) return run_in_pool(thread);
    measured_->with_heap(thread, [&](auto& heap) {
      for (std::uint64_t round = 0; round < rounds_; ++round) {
        if (allocates(thread)) fill(heap, thread, size_of_round(round));
        meeting_->wait();
        if (pattern_ != pattern::remote)
          empty(heap, thread);
        else if (!allocates(thread))
          empty(heap, thread - 1);
        meeting_->wait();
      }
    });
  }

  // --- generations ---

  struct generation {
    blowup* work;
    unsigned parent;
    harness::random_stream random;
  };

  // This thread frees half of all objects, chosen at random, and never allocates. In each round a new thread
  // allocates objects in their place.
  void run_generations(unsigned thread) {
    generation next{this, thread, harness::random_stream(measured_->seed(), thread)};
    try {
      for (std::uint64_t round = 0; round < rounds_; ++round) {
        pthread_join(harness::start_thread(live_one_generation, &next), nullptr);
        const double percent = round + 1 < rounds_ ? 50 : 100;
        measured_->with_heap(thread, [&](auto& heap) { evict(heap, thread, percent, next.random); });
      }
    } catch (const harness::run_error&) {
      counters_[thread].front().refused = true;
    }
  }

  static void* live_one_generation(void* argument) {
    generation& own = *static_cast<generation*>(argument);
    own.work->measured_->with_heap(own.parent, [&](auto& heap) {
      progress& of = own.work->counters_[own.parent].front();
      const std::span<harness::block> all = own.work->filled_[own.parent];
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].start != nullptr) continue;
        const std::uint64_t bytes = own.work->sizes_.logarithmic(own.random);
        if (of.live + bytes > own.work->live_of_each()) break;
        all[i] = harness::allocate_stamped(heap, bytes, harness::stamp_of(i));
        fill_pages(all[i], harness::stamp_of(i));
        of.live += bytes;
      }
      of.most_live = std::max(of.most_live, of.live);
    });
    return nullptr;
  }

  template <class Heap>
  void evict(Heap& heap, unsigned thread, double percent, harness::random_stream& random) {
    const std::span<harness::block> all = filled_[thread];
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].start == nullptr || !random.chance(percent)) continue;
      counters_[thread].front().live -= all[i].bytes;
      harness::release_stamped(heap, all[i], harness::stamp_of(i));
      all[i] = {};
    }
  }

  // --- pool ---

  struct member {
    shrinking_pool* pool;
    unsigned thread;
  };

  // The threads of the team exist for the whole run; each waits for one of the pool, which ends earlier.
  void run_in_pool(unsigned thread) {
    member own{&*pool_, thread};
    const auto live = [](void* argument) -> void* {
      const member& it = *static_cast<member*>(argument);
      it.pool->live(it.thread);
      return nullptr;
    };
    try {
      pthread_join(harness::start_thread(live, &own), nullptr);
    } catch (const harness::run_error&) {
      counters_[thread].front().refused = true;
    }
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
    const std::uint64_t each = live_of_each();
    const std::uint64_t room = each > own.survivor_bytes ? each - own.survivor_bytes : 0;
    for (own.filled = 0; (own.filled + 1) * bytes <= room; ++own.filled) {
      harness::block& fresh = filled_[thread][own.filled];
      fresh = harness::allocate_stamped(heap, bytes, harness::stamp_of(own.filled));
      fill_pages(fresh, harness::stamp_of(own.filled));
    }
    own.most_live = std::max(own.most_live, own.survivor_bytes + own.filled * bytes);
  }

  // Writes to every page of a large object, so that live bytes are resident.
  static void fill_pages(harness::block fresh, std::uint8_t stamp) {
    constexpr std::size_t page = 4096;
    for (std::size_t at = page; at < fresh.bytes; at += page)
      static_cast<std::uint8_t*>(fresh.start)[at] = stamp;
  }

  template <class Heap>
  void empty(Heap& heap, unsigned thread) {
    progress& of = counters_[thread].front();
    for (std::size_t i = 0; i < of.filled; ++i) {
      const harness::block one = filled_[thread][i];
      if (pattern_ == pattern::survivor && i % stays_ == 0 && of.survivors < survivors_[thread].size()) {
        harness::expect_stamp(one, harness::stamp_of(i));
        harness::write_stamp(one, harness::stamp_of(of.survivors));
        survivors_[thread][of.survivors++] = one;
        of.survivor_bytes += one.bytes;
      } else {
        harness::release_stamped(heap, one, harness::stamp_of(i));
      }
    }
  }

  void score(harness::measurement& measured, std::uint64_t before) {
    std::uint64_t most_live = 0;
    for (unsigned thread = 0; thread < threads_; ++thread) most_live += counters_[thread].front().most_live;
    const double peak = static_cast<double>(probes::process_memory().read().peak_anonymous()) -
                        static_cast<double>(probes::off_heap_pages_total() + before);
    measured.add_metric("peak_live", static_cast<double>(most_live), "B");
    measured.add_metric("blowup", peak / static_cast<double>(most_live), "1");
  }

  void release_survivors() {
    if (pool_) pool_->release_all();
    harness::plain_heap heap;
    for (unsigned thread = 0; thread < threads_; ++thread)
      for (std::size_t i = 0; i < counters_[thread].front().survivors; ++i)
        harness::release_stamped(heap, survivors_[thread][i], harness::stamp_of(i));
  }

  pattern pattern_ = pattern::survivor;
  std::uint64_t threads_ = 2;
  std::uint64_t live_ = std::uint64_t{64} << 20;
  std::uint64_t rounds_ = 60;
  harness::size_mix sizes_{64, 8192};
  std::uint64_t stays_ = 500;
  harness::thread_arrays<harness::block> filled_;
  harness::thread_arrays<harness::block> survivors_;
  harness::thread_arrays<progress> counters_;
  std::optional<shrinking_pool> pool_;
  probes::barrier* meeting_ = nullptr;
  harness::measurement* measured_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  blowup work;
  return harness::run_program(work, argc, argv);
}
