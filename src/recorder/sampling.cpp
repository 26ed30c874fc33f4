#include "recorder/sampling.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <span>

#include "base/errno_keeper.h"
#include "recorder/loaded_code.h"
#include "recorder/poisson_sampling.h"
#include "recorder/process_file.h"
#include "recorder/proven_table.h"
#include "recorder/site_table.h"
#include "recorder/system_call_filters.h"
#include "recorder/waiting.h"

namespace heaplab::recorder {

constinit sample_filter sampled_addresses;
constinit watched_pages pages_watched;

namespace {

constinit site_table sites;
constinit atomic<std::uint64_t> sites_added = 0;  // relaxed: a count
constinit atomic<std::uint64_t> random_state = 0;
// relaxed: a time that is a little old will do.
constinit atomic<std::uint64_t> last_ms = 0;

// Splitmix64: the state is a count, so that threads share it without waiting. relaxed: each draw has its own.
std::uint64_t random() {
  constexpr std::uint64_t step = 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = random_state.fetch_add(step, std::memory_order_relaxed) + step;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
  return z ^ z >> 31;
}

// A child of fork draws other numbers than its parent, unless it may not ask for its own.
void seed() {
  if (!may_call_system()) return;
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  const std::uint64_t moment =
      mix(static_cast<std::uint64_t>(time.tv_sec), static_cast<std::uint64_t>(time.tv_nsec));
  random_state.store(mix(moment, static_cast<std::uint64_t>(::getpid())), std::memory_order_relaxed);
}

// The clock may be a system call.
std::uint64_t now_ms() {
  if (!may_call_system()) return last_ms.load(std::memory_order_relaxed);
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  const std::uint64_t ms =
      static_cast<std::uint64_t>(time.tv_sec) * 1000 + static_cast<std::uint64_t>(time.tv_nsec) / 1'000'000;
  last_ms.store(ms, std::memory_order_relaxed);
  return ms;
}

constexpr std::size_t reserved = std::size_t{1} << 20;  // bytes of the last table

bool grow() {
  const std::size_t bytes = sites.next_bytes();
  trace::raw_chunk* const level = bytes == 0 ? nullptr : map_table(bytes, trace::sites_magic);
  return level != nullptr && sites.add(level);
}

// The site of a stack; that of all others, if there is no room. Null: there is not even that.
numbered_site site_of(std::span<const std::uint64_t> stack) {
  std::uint64_t key = 0;
  for (const std::uint64_t address : stack) key = mix(key, address);
  key |= std::uint64_t{1} << 63;  // no key that has a meaning of its own
  numbered_site found = sites.find(key);
  if (found.site != nullptr) return found;
  do found = sites.add(key, stack);
  while (found.site == nullptr && grow());
  if (found.site == nullptr) return {sites.at(site_table::elsewhere), site_table::elsewhere};
  // Whatever code the new site is in was perhaps loaded since. relaxed: a count.
  if (std::has_single_bit(sites_added.fetch_add(1, std::memory_order_relaxed) + 1)) note_modules();
  return found;
}

void count(trace::raw_site& at, std::uint64_t size, std::uint64_t mean) {
  const sampled_amounts amounts = amounts_of_sample(size, mean);
  at.samples.fetch_add(1, std::memory_order_relaxed);
  at.bytes.fetch_add(amounts.bytes, std::memory_order_relaxed);
  at.blocks.fetch_add(amounts.blocks, std::memory_order_relaxed);
  at.bytes_variance.fetch_add(amounts.bytes_variance, std::memory_order_relaxed);
  at.blocks_variance.fetch_add(amounts.blocks_variance, std::memory_order_relaxed);
}

// Whole pages, which an earlier recording of the process may have written, are zero; also in a child of fork.
bool wipe(void* pages, std::size_t bytes) {
  return ::madvise(pages, bytes, MADV_DONTNEED) == 0 && ::madvise(pages, bytes, MADV_WIPEONFORK) == 0;
}

std::uint64_t mean_distance() {
  return control.load(std::memory_order_acquire)->sample_bytes;
}

std::uint64_t next_distance() {
  return static_cast<std::uint64_t>(gap_of(random(), mean_distance()));
}

// Remembers the block with its site, and counts it there if it is a sample.
void note(thread_state& state, const trace::raw_live_block& block, const call_site& site) {
  const errno_keeper keep;
  const doing own(state, activity::own);
  if (!enter_process_file(state)) return count_lost(state, why_no_chunk());
  std::uint64_t stack[trace::most_frames];
  const std::size_t frames = walk_stack(this_sampled_thread.bounds, site, stack);
  const numbered_site at = site_of(std::span(stack, frames));
  if (at.site == nullptr) return count_lost(state, why_no_chunk());
  if ((block.site & trace::no_sample) == 0) count(*at.site, block.size, mean_distance());
  remember_sample(state, {block.what, block.size, block.site | now_ms() << trace::site_bits | at.number});
}

}  // namespace

bool prepare_sampling(const trace::raw_control& wanted) {
  seed();
  prepare_loaded_code();
  distances_drawn.fetch_add(1, std::memory_order_relaxed);
  auto closed = shortcut::closed;
  past_release.compare_exchange_strong(closed, shortcut::open, std::memory_order_relaxed,
                                       std::memory_order_relaxed);
  if (!wipe(&sampled_addresses, sizeof sampled_addresses) || !wipe(&pages_watched, sizeof pages_watched))
    return false;
  pages_watched.watch(wanted.page_period, random());
  return true;
}

std::uint64_t first_distance(thread_state& state) {
  const errno_keeper keep;
  const doing own(state, activity::own);
  if (!enter_process_file(state)) count_lost(state, why_no_chunk());
  this_sampled_thread.distances = distances_drawn.load(std::memory_order_relaxed);
  return next_distance();
}

std::uint64_t sample(thread_state& state, const trace::raw_live_block& block, const call_site& site) {
  note(state, block, site);
  return next_distance();
}

void note_on_page(thread_state& state, const trace::raw_live_block& block, const call_site& site) {
  note(state, {block.what, block.size, block.site | trace::no_sample}, site);
}

void remember_sample(thread_state& state, const trace::raw_live_block& sample) {
  sampled_addresses.add(trace::address_in(sample.what));
  remember(state, sample);
}

std::optional<trace::raw_live_block> forget_sample(thread_state& state, std::uint64_t address) {
  // Null shares its count with blocks, and marks the empty places of the table.
  if (address == 0) return std::nullopt;
  const auto found = forget(state, address);
  if (found) sampled_addresses.remove(address);
  return found;
}

void end_life(const trace::raw_live_block& sample) {
  if ((sample.site & trace::no_sample) != 0) return;
  const errno_keeper keep;
  const std::uint64_t born = (sample.site & (trace::no_sample - 1)) >> trace::site_bits;
  const std::uint64_t ms = now_ms() - born;
  const auto longer = static_cast<std::size_t>(std::bit_width(ms >> 2) + 1) / 2;  // 4 ms, 16 ms, 64 ms ...
  const std::size_t last = trace::raw_site::classes_of_lives - 1;
  // Null: another recording has begun since the sample was found.
  if (trace::raw_site* const site = sites.at(sample.site & ((std::uint64_t{1} << trace::site_bits) - 1)))
    site->lives[std::min(longer, last)].fetch_add(1, std::memory_order_relaxed);
}

void end_sample(thread_state& state, std::uint64_t address) {
  if (const auto found = forget_sample(state, address)) end_life(*found);
}

void reserve_sample_tables() {
  while (sites.next_bytes() <= reserved && grow()) continue;
  while (live_blocks.next_bytes() <= reserved && grow_live_blocks()) continue;
}

void forget_sites() {
  sites.forget_all();
  sites_added.store(0, std::memory_order_relaxed);
  seed();
}

}  // namespace heaplab::recorder
