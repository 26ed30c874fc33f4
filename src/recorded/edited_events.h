// What if the program allocated otherwise? Changes the events of a process before they are compiled. Call
// sites are named for each change:
//   less     a share of their blocks is left out
//   stack    blocks that die at once are left out: they lie on the stack, or one is used again
//   reserve  blocks that grow have their final size from the beginning, and grow no more
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "trace/profile/block_habits.h"
#include "trace/raw/event.h"

namespace heaplab::recorded {

struct edits {
  std::unordered_map<std::uint32_t, double> less{};  // share by site, 0 to 1
  std::unordered_set<std::uint32_t> stack{};
  std::unordered_set<std::uint32_t> reserve{};

  bool need_habits() const { return !stack.empty() || !reserve.empty(); }
};

class edited_events {
public:
  // `habits` have seen all events, if the edits need them.
  edited_events(const edits& wanted, const trace::block_habits& habits) : wanted_(wanted), habits_(habits) {}

  // What becomes of the next event: none, one or two events, valid until the next call. Hears each event that
  // the habits have seen, in the same order.
  std::span<const trace::event> changed(const trace::event& e);

private:
  // What a recorded block becomes: 0, it is left out; or a reserved block, whose address no other block ever
  // has. Such a block outlives its recorded address, which the program's heap gave to others meanwhile.
  using stands_for = std::uint64_t;
  struct open_growth {
    stands_for block = 0;
    std::uint64_t from = 0;
  };

  void acquire(const trace::event& e);
  void release(const trace::event& e);
  bool end_growth(const trace::event& e);
  bool leaves_out(const trace::event& e);
  void put(const trace::event& e) { out_[count_++] = e; }

  const edits& wanted_;
  const trace::block_habits& habits_;
  std::uint64_t number_ = 0;
  std::unordered_map<std::uint64_t, stands_for> ours_;      // by recorded address
  std::unordered_map<stands_for, std::uint64_t> places_;    // by reserved block: its present recorded address
  std::unordered_map<std::uint64_t, stands_for> reserved_;  // by number of the first acquisition
  std::unordered_map<std::uint32_t, open_growth> open_growths_;  // by thread
  std::unordered_map<std::uint32_t, double> owed_;               // blocks to leave out, by site
  stands_for next_reserved_ = std::uint64_t{1} << 63;            // no address of a program
  std::array<trace::event, 2> out_;
  std::size_t count_ = 0;
};

}  // namespace heaplab::recorded
