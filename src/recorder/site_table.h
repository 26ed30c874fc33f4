// The call sites of a sampled process, by their stacks. Lock-free; the memory is in the file of the process.
//
// A hash table of levels, each twice as large as the one before. A site never moves, so that its number
// leads to it. Two threads that add one stack at the same time may add it twice: who reads the file sums up.
// The first place of the first level is that of all samples for which there was no room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/assertion.h"
#include "base/atomic.h"
#include "trace/raw/raw_file.h"

namespace heaplab::recorder {

// A site, and its number in the site of a sampled block (raw_file.h).
struct numbered_site {
  trace::raw_site* site = nullptr;
  std::uint64_t number = 0;
};

class site_table {
public:
  static constexpr unsigned most_levels = 9;  // together 8 MiB, more than 20,000 sites
  static constexpr std::uint64_t elsewhere = 0;

  // Null: the key is not in the table.
  numbered_site find(std::uint64_t key) {
    return first_of(key, [=](trace::raw_site& site) {
      // acquire pairs with the release in add.
      return site.key.load(std::memory_order_acquire) == key;
    });
  }

  // Null: no level has room, and one has to be added. Precondition: the key is none of the special ones.
  numbered_site add(std::uint64_t key, std::span<const std::uint64_t> addresses) {
    HEAPLAB_ASSERT(key > being_written && addresses.size() <= trace::most_frames);
    const numbered_site found = first_of(key, [](trace::raw_site& site) {
      std::uint64_t none = 0;
      // relaxed: the place was never used before.
      return site.key.load(std::memory_order_relaxed) == 0 &&
             site.key.compare_exchange_strong(none, being_written, std::memory_order_relaxed,
                                              std::memory_order_relaxed);
    });
    if (found.site == nullptr) return found;
    found.site->frames = addresses.size();
    std::ranges::copy(addresses, found.site->addresses);
    found.site->key.store(key, std::memory_order_release);
    return found;
  }

  // Null: there is no level yet.
  trace::raw_site* at(std::uint64_t number) {
    trace::raw_chunk* const level = levels_[number >> trace::place_bits].load(std::memory_order_acquire);
    const std::uint64_t place = number & ((std::uint64_t{1} << trace::place_bits) - 1);
    return level == nullptr ? nullptr : reinterpret_cast<trace::raw_site*>(level) + 1 + place;
  }

  // Bytes of the next level; 0: there may be no further one.
  std::size_t next_bytes() const {
    const unsigned now = levels();
    return now == most_levels ? 0 : trace::raw_unit << now;
  }

  // Precondition: `level` is zeroed behind its header. False: there are too many levels.
  bool add(trace::raw_chunk* level) {
    // relaxed: the number only reserves a place.
    const unsigned place = reserved_.fetch_add(1, std::memory_order_relaxed);
    if (place >= most_levels) {
      reserved_.store(most_levels, std::memory_order_relaxed);
      return false;
    }
    level->next = place;
    // release pairs with the acquire in at and first_of: who sees the level sees its header.
    levels_[place].store(level, std::memory_order_release);
    return true;
  }

  // In a child of fork, which has none of its parent's mappings.
  void forget_all() {
    for (auto& level : levels_) level.store(nullptr, std::memory_order_relaxed);
    reserved_.store(0, std::memory_order_relaxed);
  }

private:
  static constexpr std::uint64_t being_written = 1;
  static constexpr std::uint64_t tries = 8;  // places of a level that a key may have

  unsigned levels() const { return std::min(reserved_.load(std::memory_order_relaxed), most_levels); }

  // The first place of the key that is `wanted`; the newest level comes first.
  template <class Wanted>
  numbered_site first_of(std::uint64_t key, Wanted wanted) {
    for (unsigned level = levels(); level-- > 0;) {
      trace::raw_chunk* const table = levels_[level].load(std::memory_order_acquire);
      const std::uint64_t places = table == nullptr ? 0 : trace::sites_of(*table);
      if (places == 0) continue;
      for (std::uint64_t tried = 0; tried < tries; ++tried) {
        const std::uint64_t place = (key + tried) % places;
        const std::uint64_t number = std::uint64_t{level} << trace::place_bits | place;
        trace::raw_site* const site = reinterpret_cast<trace::raw_site*>(table) + 1 + place;
        if (number != elsewhere && wanted(*site)) return {site, number};
      }
    }
    return {};
  }

  atomic<trace::raw_chunk*> levels_[most_levels]{};
  atomic<unsigned> reserved_ = 0;
};

}  // namespace heaplab::recorder
