#include "trace/profile/block_habits.h"

#include <algorithm>

namespace heaplab::trace {

namespace {

constexpr std::uint64_t fewest_copies = 2;  // of a chain that copies

}  // namespace

void block_habits::see(const event& e) {
  ++number_;
  if (!is_acquisition(e.kind) && !is_release(e.kind)) return;
  thread_past& past = pasts_[e.thread];
  ++past.calls;
  is_acquisition(e.kind) ? acquire(e, past) : release(e, past);
}

void block_habits::acquire(const event& e, thread_past& past) {
  const std::optional<block> from = is_growth(e.kind) ? past.growing : std::nullopt;
  past.growing.reset();
  past.acquired = from ? 0 : e.address;
  if (e.address == 0) {
    if (from) live_[from->address] = *from;  // a reallocation that failed
    return;
  }
  block made{.address = e.address,
             .number = number_,
             .first = number_,
             .call = past.calls,
             .size = e.size,
             .thread = e.thread,
             .site = e.site};
  if (from) link(made, *from, false);
  live_[e.address] = made;
}

void block_habits::release(const event& e, thread_past& past) {
  past.growing.reset();
  const std::uint64_t before = past.acquired;
  past.acquired = 0;
  const auto found = live_.find(e.address);
  if (found == live_.end()) return;
  const block old = found->second;
  live_.erase(found);
  if (e.kind == kind::realloc_from || e.kind == kind::reallocarray_from) {
    past.growing = old;
    return;
  }
  const auto newer = live_.find(before);
  if (newer != live_.end() && newer->second.site == old.site && newer->second.size > old.size)
    return link(newer->second, old, true);
  const bool alone = old.first == old.number && old.thread == e.thread;
  if (!alone || past.calls - old.call > at_once || old.size > most_on_stack) return;
  if (at_once_.size() <= old.number) at_once_.resize(number_ + 1);
  at_once_[old.number] = true;
  site_habits& of = temporaries_[old.site];
  ++of.temporaries;
  of.temporary_bytes += old.size;
}

void block_habits::link(block& newer, const block& older, bool copied) {
  newer.first = older.first;
  firsts_[newer.number] = older.first;
  block_chain& of = chains_[older.first];
  if (of.site == 0) of.site = newer.site;
  of.most_size = std::max({of.most_size, older.size, newer.size});
  of.growths += newer.size > older.size ? 1 : 0;
  of.copies += copied ? 1 : 0;
  if (copied || newer.address != older.address) of.bytes_copied += std::min(older.size, newer.size);
}

bool block_habits::is_chain(const block_chain& of) {
  return of.growths > of.copies || of.copies >= fewest_copies;
}

const block_chain* block_habits::chain_from(std::uint64_t number) const {
  const auto found = chains_.find(number);
  return found != chains_.end() && is_chain(found->second) ? &found->second : nullptr;
}

std::optional<std::uint64_t> block_habits::chain_before(std::uint64_t number) const {
  const auto found = firsts_.find(number);
  return found != firsts_.end() ? std::optional(found->second) : std::nullopt;
}

std::unordered_map<std::uint32_t, site_habits> block_habits::by_site() const {
  auto found = temporaries_;
  for (const auto& [first, chain] : chains_) {
    if (!is_chain(chain)) continue;
    site_habits& of = found[chain.site];
    ++of.chains;
    of.growths += chain.growths;
    of.bytes_copied += chain.bytes_copied;
  }
  return found;
}

}  // namespace heaplab::trace
