// A cache that all threads share. Each entry has a description and a value, of random sizes. When the cache
// is full, the entry that was asked for least recently goes, whichever thread has put it there.
#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/cache_line.h"
#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

class lru_cache final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"lru_cache", "entries of random size in a cache of all threads, the least recently used evicted",
            "lru_cache --threads 2 --requests 100k --cache-bytes 8MiB"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_, 512);
    options.count("requests", requests_, {1, 10'000'000'000}, "Entries that each thread asks for");
    options.count("keys", keys_, {1, 100'000'000}, "Different entries; those with small numbers are popular");
    options.size("cache-bytes", cache_bytes_, {1, std::uint64_t{1} << 40},
                 "All entries together, in all shards, are no larger");
    options.count("shards", shard_count_, {1, 4096}, "Parts of the cache, each with a lock and an age order");
    sizes_.declare(options, {8, std::uint64_t{1} << 30});
    options.percent("replaced", replaced_, "Requests for a cached entry that give it another value");
    harness::declare_grown(options, grown_);
    harness::declare_write_all(options, write_all_);
    harness::declare_lives(options, lives_);
  }

  void check(const harness::option_table&) override {
    sizes_.check();
    if (shard_bytes() < description_sizes.most + sizes_.most)
      throw harness::usage_error(
          "--cache-bytes must have room for an entry of --max-size in each of --shards");
    harness::require_memory(cache_bytes_, "--cache-bytes");
  }

  harness::size_mix sizes() const override {
    return {std::min(sizes_.least, description_sizes.least), sizes_.most};
  }

  void run(harness::measurement& measured) override {
    entries_ = harness::thread_arrays<entry>(1, keys_);
    shards_ = harness::thread_arrays<shard>(1, shard_count_);
    tallies_ = harness::thread_arrays<tally>(threads_, 1);
    // Adaptive: a lock is held for a fraction of a microsecond, and to sleep and wake takes many times as
    // long.
    pthread_mutexattr_t spins_first;
    pthread_mutexattr_init(&spins_first);
    pthread_mutexattr_settype(&spins_first, PTHREAD_MUTEX_ADAPTIVE_NP);
    for (shard& each : shards_[0]) pthread_mutex_init(&each.lock, &spins_first);
    pthread_mutexattr_destroy(&spins_first);

    run_team(measured);
    tally all;
    for (unsigned thread = 0; thread < threads_; ++thread) {
      const tally& counts = tallies_[thread].front();
      all.hits += counts.hits, all.of_others += counts.of_others, all.pairs += counts.pairs;
    }
    const double requests = static_cast<double>(threads_ * lives_ * requests_);
    measured.add_metric("hits", static_cast<double>(all.hits) / requests, "1");
    measured.add_metric("freed_by_others", static_cast<double>(all.of_others), "1");
    measured.add_metric("pairs", static_cast<double>(all.pairs), "1");
    harness::plain_heap heap;
    for (shard& each : shards_[0]) {
      measured.verify(each.bytes <= shard_bytes(), "no shard is larger than its part of --cache-bytes");
      while (each.oldest != none) evict_oldest(heap, each, all, 0);
      measured.verify(each.bytes == 0, "the entries of a shard are as large as was counted");
      pthread_mutex_destroy(&each.lock);
    }
  }

private:
  // Numbers of entries are keys, from 1.
  static constexpr std::uint32_t none = 0;
  static constexpr harness::size_mix description_sizes{24, 72};

  // A cached entry has a description, a value, and a place in the age order of its shard. All is outside the
  // heap under test but what the two blocks hold.
  struct alignas(cache_line_bytes) entry {
    harness::block description, value;
    std::uint32_t newer = none, older = none;
    std::uint64_t description_by = 0, value_by = 0;  // numbers of the lives that allocated them
  };
  struct alignas(2 * cache_line_bytes) shard {
    pthread_mutex_t lock;
    std::uint32_t newest = none, oldest = none;
    std::uint64_t bytes = 0;
  };
  // The counts of a thread and of its successors.
  struct tally {
    std::uint64_t hits = 0;
    std::uint64_t of_others = 0;  // blocks freed by another life than allocated them
    std::uint64_t pairs = 0;      // blocks allocated
  };
  // One of the threads that follow each other in the same place.
  struct life {
    unsigned thread;
    std::uint64_t number;  // no other life has it; from 1
    harness::random_stream random;
  };

  std::uint64_t shard_bytes() const { return cache_bytes_ / shard_count_; }

  void run(unsigned thread) override {
    life own{thread, thread + 1, harness::random_stream(measured_->seed(), thread)};
    run_lives(lives_, [&] { live(own), own.number += threads_; });
  }

  void live(life& own) {
    tally counted = tallies_[own.thread].front();
    measured_->with_heap(own.thread, [&](auto& heap) {
      for (std::uint64_t done = 0; done < requests_; ++done) {
        // Small keys are popular: the frequency of a key falls with the logarithm of the key.
        const auto key = static_cast<std::uint32_t>(1 + own.random.below(1 + own.random.below(keys_)));
        shard& of = shards_[0][key % shard_count_];
        pthread_mutex_lock(&of.lock);
        answer(heap, of, key, own, counted);
        pthread_mutex_unlock(&of.lock);
      }
    });
    tallies_[own.thread].front() = counted;
  }

  template <class Heap>
  void answer(Heap& heap, shard& of, std::uint32_t key, life& own, tally& counted) {
    entry& wanted = at(key);
    if (wanted.value.start == nullptr) {
      wanted.description = allocate(heap, description_sizes.uniform(own.random), key, of, counted);
      wanted.value = allocate(heap, sizes_.logarithmic(own.random), key, of, counted);
      wanted.description_by = wanted.value_by = own.number;
    } else {
      ++counted.hits;
      harness::expect_stamp(wanted.description, harness::stamp_of(key));
      unlink(of, key);
      if (own.random.chance(replaced_)) {
        release(heap, wanted.value, key, wanted.value_by, own.number, of, counted);
        wanted.value = allocate(heap, sizes_.logarithmic(own.random), key, of, counted);
        wanted.value_by = own.number;
      } else if (own.random.chance(grown_)) {
        grow(heap, wanted, key, own.random, of);
      }
    }
    put_newest(of, key);
    while (of.bytes > shard_bytes()) evict_oldest(heap, of, counted, own.number);
  }

  template <class Heap>
  void grow(Heap& heap, entry& cached, std::uint32_t key, harness::random_stream& random, shard& of) {
    const std::size_t bytes = cached.value.bytes + random.between(1, cached.value.bytes);
    if (bytes > sizes_.most) return;
    const std::size_t before = cached.value.bytes;
    of.bytes += bytes - before;
    cached.value = harness::reallocate_stamped(heap, cached.value, bytes, harness::stamp_of(key));
    if (write_all_) harness::fill_with_stamp(cached.value, harness::stamp_of(key), before);
  }

  template <class Heap>
  void evict_oldest(Heap& heap, shard& of, tally& counted, std::uint64_t by) {
    const std::uint32_t key = of.oldest;
    unlink(of, key);
    entry& evicted = at(key);
    release(heap, evicted.value, key, evicted.value_by, by, of, counted);
    release(heap, evicted.description, key, evicted.description_by, by, of, counted);
  }

  template <class Heap>
  harness::block allocate(Heap& heap, std::size_t bytes, std::uint32_t key, shard& of, tally& counted) const {
    of.bytes += bytes;
    ++counted.pairs;
    const harness::block fresh = harness::allocate_stamped(heap, bytes, harness::stamp_of(key));
    if (write_all_) harness::fill_with_stamp(fresh, harness::stamp_of(key));
    return fresh;
  }

  template <class Heap>
  static void release(Heap& heap, harness::block& held, std::uint32_t key, std::uint64_t allocated_by,
                      std::uint64_t by, shard& of, tally& counted) {
    of.bytes -= held.bytes;
    counted.of_others += allocated_by != by;
    harness::release_stamped(heap, std::exchange(held, {}), harness::stamp_of(key));
  }

  entry& at(std::uint32_t key) { return entries_[0][key - 1]; }

  void unlink(shard& of, std::uint32_t key) {
    const entry& unlinked = at(key);
    (unlinked.newer == none ? of.newest : at(unlinked.newer).older) = unlinked.older;
    (unlinked.older == none ? of.oldest : at(unlinked.older).newer) = unlinked.newer;
  }

  void put_newest(shard& of, std::uint32_t key) {
    entry& linked = at(key);
    linked.newer = none;
    linked.older = of.newest;
    (of.newest == none ? of.oldest : at(of.newest).newer) = key;
    of.newest = key;
  }

  std::uint64_t requests_ = 1'000'000;
  std::uint64_t keys_ = 20'000;
  std::uint64_t cache_bytes_ = std::uint64_t{8} << 20;
  std::uint64_t shard_count_ = 64;
  harness::size_mix sizes_{8, 16 << 10};
  double replaced_ = 10;
  double grown_ = 0;
  bool write_all_ = false;
  std::uint64_t lives_ = 1;
  harness::thread_arrays<entry> entries_;
  harness::thread_arrays<shard> shards_;
  harness::thread_arrays<tally> tallies_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<lru_cache>(argc, argv);
}
