// The blocks that live while a recording waits for its window. Lock-free; the memory is in the file of the
// process, which is read after the recording: when the window opens, nothing has to be written.
//
// A hash table of levels, each twice as large as the one before. An entry never moves, and a bucket has no
// order: a search looks at the one bucket of each level that the address belongs to. The newest level comes
// first, because it holds half of all entries or more.
//
// The window opens when the state of the recording changes, at any moment. An acquisition looks at the state
// after the call of malloc, a release before the call of free. The calls that concern one address happen one
// after another, and reads of one atomic object in such an order never go back (read-read coherence). So the
// calls of each address are cut at one point: those before it are in this table, those behind it are
// recorded.
#pragma once

#include <cstdint>
#include <optional>

#include "base/assertion.h"
#include "base/atomic.h"
#include "trace/raw/raw_file.h"

namespace heaplab::recorder {

// What the table takes its atomics from; tests explore interleavings with others.
struct live_table_sync {
  template <class T>
  using atomic = heaplab::atomic<T>;
  template <class T>
  using atomic_ref = heaplab::atomic_ref<T>;
};

template <class Sync>
class basic_live_table {
public:
  // Precondition: the block has an address. False: no level has room, and one has to be added.
  bool put(const trace::raw_live_block& block) {
    HEAPLAB_ASSERT(trace::address_in(block.what) > being_written);
    for (unsigned level = levels(); level-- > 0;)
      if (put_into(level, block)) return true;
    return false;
  }

  // Removes and returns the block at the address, if it is in the table.
  std::optional<trace::raw_live_block> take(std::uint64_t address) {
    for (unsigned level = levels(); level-- > 0;)
      if (const auto found = take_from(level, address)) return found;
    return std::nullopt;
  }

  // Precondition: `level` is zeroed behind its header and has a bucket. False: there are too many levels.
  bool add(trace::raw_chunk* level) {
    HEAPLAB_ASSERT(level->bytes >= 2 * sizeof(trace::raw_bucket));
    // relaxed: the number only reserves a place.
    const unsigned place = reserved_.fetch_add(1, std::memory_order_relaxed);
    if (place >= most_levels) {
      reserved_.store(most_levels, std::memory_order_relaxed);
      return false;
    }
    // release pairs with the acquire in bucket_of: its reader sees the header.
    levels_[place].store(level, std::memory_order_release);
    return true;
  }

  // Bytes of the next level; 0: there may be no further one.
  std::size_t next_bytes() const {
    const unsigned now = levels();
    return now == most_levels ? 0 : trace::raw_unit << now;
  }

  // In a child of fork, which has none of its parent's mappings.
  void forget_all() {
    for (auto& level : levels_) level.store(nullptr, std::memory_order_relaxed);
    reserved_.store(0, std::memory_order_relaxed);
  }

private:
  static constexpr unsigned most_levels = 17;  // the last has 1 GiB
  // What an entry holds while a thread writes it; no address of a block.
  static constexpr std::uint64_t being_written = 1;

  unsigned levels() const {
    const unsigned reserved = reserved_.load(std::memory_order_relaxed);
    return reserved < most_levels ? reserved : most_levels;
  }

  // Null where the level is about to be added, or has no memory any more: the caller looks elsewhere.
  trace::raw_bucket* bucket_of(unsigned level, std::uint64_t address) const {
    trace::raw_chunk* const chunk = levels_[level].load(std::memory_order_acquire);
    const std::uint64_t buckets = chunk == nullptr ? 0 : trace::buckets_of(*chunk);
    if (buckets == 0) return nullptr;
    // Fibonacci hashing, scaled to the number of buckets by a multiplication.
    const auto hash = static_cast<std::uint32_t>(address * 0x9E3779B97F4A7C15ULL >> 32);
    const std::size_t place = hash * buckets >> 32;
    return reinterpret_cast<trace::raw_bucket*>(chunk) + 1 + place;
  }

  bool put_into(unsigned level, const trace::raw_live_block& block) {
    trace::raw_bucket* const bucket = bucket_of(level, trace::address_in(block.what));
    if (bucket == nullptr) return false;
    for (trace::raw_live_block& entry : bucket->blocks) {
      const typename Sync::template atomic_ref<std::uint64_t> what(entry.what);
      std::uint64_t none = 0;
      // acquire pairs with the release in take_from, whose thread has read the entry before. relaxed: the
      // check only saves the exchange.
      if (what.load(std::memory_order_relaxed) != 0 ||
          !what.compare_exchange_strong(none, being_written, std::memory_order_acquire,
                                        std::memory_order_relaxed))
        continue;
      entry.size = block.size;
      entry.site = block.site;
      // release: if the process is killed here, the entry is whole or none. No thread looks for the address
      // before this thread has passed it on.
      what.store(block.what, std::memory_order_release);
      return true;
    }
    return false;
  }

  std::optional<trace::raw_live_block> take_from(unsigned level, std::uint64_t address) {
    trace::raw_bucket* const bucket = bucket_of(level, address);
    if (bucket == nullptr) return std::nullopt;
    for (trace::raw_live_block& entry : bucket->blocks) {
      const typename Sync::template atomic_ref<std::uint64_t> what(entry.what);
      // acquire pairs with the release in put_into.
      const std::uint64_t seen = what.load(std::memory_order_acquire);
      if (trace::address_in(seen) != address) continue;
      const trace::raw_live_block found{seen, entry.size, entry.site};
      // release pairs with the acquire in put_into of the entry's next user.
      what.store(0, std::memory_order_release);
      return found;
    }
    return std::nullopt;
  }

  typename Sync::template atomic<trace::raw_chunk*> levels_[most_levels]{};
  typename Sync::template atomic<unsigned> reserved_ = 0;
};

using live_table = basic_live_table<live_table_sync>;

}  // namespace heaplab::recorder
