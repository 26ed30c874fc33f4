// The life of a span (paper, figure 3), as one table: span_transitions. docs/scalloc-span-life.md is that
// table printed.
//
// One 64-bit word holds the state, the list of remotely freed blocks, their number, and the epoch. So each
// transition of the table is one compare-and-swap, and a free that empties a span cannot slip between a look
// at the span and the action that follows. The epoch tells tenures of the span apart; every event but push
// changes it.
//
// No thread alone knows how many blocks are live. The owner counts its own mallocs and frees in `used`
// (span.h); the other threads count their frees in the word; live = used - remote. While a span is not hot,
// `used` only falls and `remote` only rises. So a thread that has seen "no block is live" may act on that:
// the fact stays true until an event changes the epoch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/assertion.h"
#include "base/narrow.h"

namespace heaplab::scalloc {

enum class span_state : std::uint8_t { expected, free, hot, floating, reusable };
inline constexpr unsigned span_state_count = 5;

enum class span_event : std::uint8_t { take, push, refill, retire, mostly_free, all_free, reuse };
inline constexpr unsigned span_event_count = 7;

struct span_transition {
  span_state from;
  span_event event;
  span_state to;
  const char* who;    // may do it
  const char* order;  // memory order of the word's change, and what it is for
};

inline constexpr const char* freeing_thread = "any thread that frees a block it does not own";
inline constexpr const char* push_order =
    "seq_cst: publishes the block's link, and comes before the look at the owner's count";

inline constexpr span_transition span_transitions[] = {
    {span_state::expected, span_event::take, span_state::hot,
     "the thread that carved the span from the arena", "release: publishes owner, class and count"},
    {span_state::free, span_event::take, span_state::hot,
     "the thread that popped the span from the span-pool", "release: publishes owner, class and count"},
    {span_state::hot, span_event::push, span_state::hot, freeing_thread, push_order},
    {span_state::hot, span_event::refill, span_state::hot,
     "the owner, or a sweep of holes, which gives the blocks back", "acquire: sees the links of the blocks"},
    {span_state::hot, span_event::retire, span_state::floating, "the owner",
     "seq_cst: publishes count and local list, and comes before the look at the remote list"},
    {span_state::floating, span_event::push, span_state::floating, freeing_thread, push_order},
    {span_state::floating, span_event::mostly_free, span_state::reusable, "any thread", "acq_rel"},
    {span_state::floating, span_event::all_free, span_state::free, "any thread", "acq_rel"},
    {span_state::reusable, span_event::push, span_state::reusable, freeing_thread, push_order},
    {span_state::reusable, span_event::all_free, span_state::free, "any thread", "acq_rel"},
    {span_state::reusable, span_event::reuse, span_state::hot,
     "the owner, or for an orphan any thread, under the lock of the owner's lists", "acq_rel"},
};

// A pair of a state and an event without a row in the table has no next state.
constexpr std::optional<span_state> next_state(span_state from, span_event event) {
  for (const span_transition& row : span_transitions)
    if (row.from == from && row.event == event) return row.to;
  return std::nullopt;
}

// The states that allow an event, a bit for each: one word instead of the table where the event is known.
inline constexpr auto states_allowing = [] {
  std::array<std::uint8_t, span_event_count> result{};
  for (const span_transition& row : span_transitions)
    result[static_cast<unsigned>(row.event)] |=
        static_cast<std::uint8_t>(1U << static_cast<unsigned>(row.from));
  return result;
}();

// Every event but push leads to the same state from every state.
consteval span_state only_destination(span_event event) {
  for (const span_transition& row : span_transitions)
    if (row.event == event) return row.to;
  return span_state::expected;
}

// The word. From the lowest bit: state 3, newest remotely freed block 17 (its offset in the span by 16
// bytes: 2^17 of these are 2 MiB, the largest span), number of remotely freed blocks 17, epoch 27.
class span_word {
  static constexpr std::uint32_t granule = 16;
  static constexpr unsigned state_bits = 3, newest_bits = 17, count_bits = 17, epoch_bits = 27;
  static constexpr unsigned newest_at = state_bits, count_at = newest_at + newest_bits,
                            epoch_at = count_at + count_bits;
  static_assert(epoch_at + epoch_bits == 64);

public:
  static constexpr std::uint32_t epoch_limit = 1U << epoch_bits;

  constexpr span_word() = default;
  constexpr explicit span_word(std::uint64_t bits) : bits_(bits) {}
  constexpr std::uint64_t bits() const { return bits_; }

  // Of a span that is still to be taken, and whose epochs go on from `epoch` < epoch_limit.
  static constexpr span_word expected(std::uint32_t epoch) {
    return span_word{std::uint64_t{epoch} << epoch_at};
  }

  constexpr span_state state() const { return static_cast<span_state>(field(0, state_bits)); }
  constexpr std::uint32_t remote_count() const { return field(count_at, count_bits); }
  // Offset in bytes; only where remote_count() > 0.
  constexpr std::uint32_t remote_newest() const { return field(newest_at, newest_bits) * granule; }
  constexpr std::uint32_t epoch() const { return field(epoch_at, epoch_bits); }

  constexpr bool allows(span_event event) const {
    return (states_allowing[static_cast<unsigned>(event)] >> field(0, state_bits) & 1) != 0;
  }

  // One function for each event. Precondition of each: allows(event).

  // The span gets an owner and a class; no block is handed out.
  constexpr span_word take() const { return moved_by<span_event::take>().without_remote(); }
  // `count` blocks, the newest at `offset`, join the remote list.
  constexpr span_word push(std::uint32_t offset, std::uint32_t count = 1) const {
    HEAPLAB_ASSERT(allows(span_event::push));
    const std::uint64_t kept = bits_ & ~(mask(newest_bits) << newest_at);
    return span_word{(kept | (std::uint64_t{offset / granule} << newest_at)) +
                     (std::uint64_t{count} << count_at)};
  }
  constexpr span_word refill() const { return moved_by<span_event::refill>().without_remote(); }
  constexpr span_word retire() const { return moved_by<span_event::retire>(); }
  constexpr span_word mostly_free() const { return moved_by<span_event::mostly_free>(); }
  constexpr span_word all_free() const { return moved_by<span_event::all_free>(); }
  constexpr span_word reuse() const { return moved_by<span_event::reuse>(); }

  friend constexpr bool operator==(span_word, span_word) = default;

private:
  static constexpr std::uint64_t mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }
  constexpr std::uint32_t field(unsigned at, unsigned bits) const {
    return narrow<std::uint32_t>((bits_ >> at) & mask(bits));
  }

  template <span_event Event>
  constexpr span_word moved_by() const {
    static_assert(Event != span_event::push);
    HEAPLAB_ASSERT(allows(Event));
    constexpr auto to = static_cast<std::uint64_t>(only_destination(Event));
    const std::uint64_t next_epoch = bits_ + (std::uint64_t{1} << epoch_at);
    return span_word{(next_epoch & ~mask(state_bits)) | to};
  }

  constexpr span_word without_remote() const {
    return span_word{bits_ & ~(mask(newest_bits + count_bits) << newest_at)};
  }

  std::uint64_t bits_ = 0;
};

// The thresholds of a size class.
struct span_limits {
  std::int32_t reuse_live;    // reusable with at most this many live blocks; -1: never
  std::int32_t refill_count;  // fewest remotely freed blocks that a hot span takes back
  bool eager_return;          // the thread that empties a span returns the span at once
};

// The event that is due for a span that is not hot, if any. An empty span is returned rather than reused.
constexpr std::optional<span_event> due_event(span_state state, std::int32_t live,
                                              const span_limits& limits) {
  if (state != span_state::floating && state != span_state::reusable) return std::nullopt;
  if (live == 0 && limits.eager_return) return span_event::all_free;
  if (state == span_state::floating && (live == 0 || live <= limits.reuse_live))
    return span_event::mostly_free;
  return std::nullopt;
}

}  // namespace heaplab::scalloc
