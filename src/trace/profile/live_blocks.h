// The lives of blocks, of the events of a process in their order.
//
// Memory: 80 bytes a block that lives; 128 while the table of addresses grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/assertion.h"
#include "trace/file/address_table.h"
#include "trace/raw/event.h"

namespace heaplab::trace {

struct live_block {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t acquired = 0;  // stamp
  std::uint64_t number = 0;    // of its acquisition, from 1; 0: lived before the recording
  std::uint32_t thread = 0;    // that acquired the block
  std::uint32_t site = 0;
  std::uint32_t growths = 0;  // reallocations that led to this block, one after another
  trace::kind kind = kind::none;
  std::uint8_t alignment_log2 = 0;
};

// What is known of each block that lives at a time.
class live_blocks {
public:
  // The block that stood at the address, if any. Precondition: the address is not 0.
  std::optional<live_block> put(const live_block& block) {
    const std::uint32_t place = room();
    HEAPLAB_ASSERT(blocks_[place].address == 0);
    blocks_[place] = block;
    const auto before = places_.put(block.address, place);
    return before ? std::optional(leave(*before)) : std::nullopt;
  }

  std::optional<live_block> take(std::uint64_t address) {
    const auto place = places_.take(address);
    return place ? std::optional(leave(*place)) : std::nullopt;
  }

  std::size_t size() const { return places_.size(); }

  // Calls `visit` with each block that lives, in no order that means something.
  template <class Visit>
  void each(Visit visit) const {
    for (const live_block& block : blocks_)
      if (block.address != 0) visit(block);
  }

private:
  std::uint32_t room() {
    if (unused_.empty()) {
      blocks_.emplace_back();
      return static_cast<std::uint32_t>(blocks_.size() - 1);
    }
    const std::uint32_t place = unused_.back();
    unused_.pop_back();
    return place;
  }

  live_block leave(std::uint64_t place) {
    HEAPLAB_ASSERT(place < blocks_.size() && blocks_[place].address != 0);
    const live_block left = blocks_[place];
    blocks_[place] = {};
    unused_.push_back(static_cast<std::uint32_t>(place));
    return left;
  }

  std::deque<live_block> blocks_;  // address 0: unused
  std::vector<std::uint32_t> unused_;
  address_table places_;
};

// Calls back at the beginning and the end of each block's life.
class block_lives {
public:
  // `born(block, from)`: the block is there; `from` is the one that it was reallocated of, or null.
  // `died(block, release)`: `release` is the event that ended its life, or null where none was recorded and
  // the address has another block now. Releases of blocks that were there before go unnoticed.
  template <class Born, class Died>
  void see(const event& e, Born born, Died died) {
    growth* const growing = e.thread < open_reallocs_.size() ? &open_reallocs_[e.thread] : nullptr;
    const bool grows = growing != nullptr && growing->begun && is_growth(e.kind);
    if (growing != nullptr)
      growing->begun = false;  // also after a release to size 0, which no growth follows
    if (is_acquisition(e.kind) && e.address != 0) acquire(e, grows ? &growing->from : nullptr, born, died);
    if (is_release(e.kind)) release(e, died);
  }

  // Calls `visit` with each block that lives.
  template <class Visit>
  void each(Visit visit) const {
    live_.each(visit);
  }

private:
  struct growth {
    live_block from;
    bool begun = false;
  };
  static constexpr std::uint32_t nobody = 0;               // thread of blocks that lived before
  static constexpr std::uint32_t most_threads = 1U << 22;  // numbers beyond are damage, and would cost memory

  template <class Born, class Died>
  void acquire(const event& e, const live_block* from, Born born, Died died) {
    if (e.thread != nobody) ++acquisitions_;
    const live_block block{.address = e.address,
                           .size = e.size,
                           .acquired = e.stamp,
                           .number = e.thread != nobody ? acquisitions_ : 0,
                           .thread = e.thread,
                           .site = e.site,
                           .growths = from != nullptr ? from->growths + 1 : 0,
                           .kind = e.kind,
                           .alignment_log2 = e.alignment_log2};
    if (const auto before = live_.put(block)) died(*before, nullptr);
    born(block, from);
  }

  template <class Died>
  void release(const event& e, Died died) {
    const auto block = live_.take(e.address);
    if (!block) return;
    died(*block, &e);
    const bool grows = e.kind == kind::realloc_from || e.kind == kind::reallocarray_from;
    if (!grows || e.thread >= most_threads) return;
    if (e.thread >= open_reallocs_.size()) open_reallocs_.resize(std::size_t{e.thread} + 1);
    open_reallocs_[e.thread] = {*block, true};
  }

  live_blocks live_;
  std::uint64_t acquisitions_ = 0;     // that succeeded
  std::vector<growth> open_reallocs_;  // by thread: what it has released to get another block for
};

}  // namespace heaplab::trace
