#include "workloads/harness/aged_heap.h"

#include <utility>

#include "workloads/harness/heap_calls.h"
#include "workloads/harness/measurement.h"
#include "workloads/harness/usage_error.h"
#include "workloads/harness/value_text.h"

namespace heaplab::harness {

namespace {

// of all threads together; bounds the time that tiny sizes take
constexpr std::uint64_t most_blocks = 1'000'000;

}  // namespace

aging aging::read(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    const auto seed = read_count(text.substr(0, colon));
    const auto occupancy = read_percent(text.substr(colon + 1));
    if (seed && occupancy && *occupancy >= 0 && *occupancy <= 100) return {*seed, *occupancy};
  }
  throw usage_error("'" + text + "' is not SEED:OCCUPANCY (1:50%); the occupancy is 0% to 100%");
}

aged_heap::aged_heap(const aging& wanted, const size_mix& sizes, unsigned threads)
    : wanted_(wanted), sizes_(sizes), bytes_each_(bytes_before_frees / threads), blocks_(threads) {
  const std::uint64_t room = std::min(most_blocks / threads, bytes_each_ / sizes.least + 1);
  for (unsigned thread = 0; thread < threads; ++thread) {
    pages_.push_back(take_pages(probes::off_heap_pages::needed<block>(room)));
    blocks_[thread] = pages_.back().array<block>(room);
  }
}

void aged_heap::age(unsigned thread) {
  plain_heap heap;
  random_stream random(wanted_.seed, thread);
  const std::span<block> all = blocks_[thread];
  std::size_t count = 0;
  for (std::uint64_t bytes = 0; count < all.size() && bytes < bytes_each_; bytes += all[count++].bytes)
    all[count] = allocate_stamped(heap, sizes_.logarithmic(random), stamp_of(thread));
  const auto keep = static_cast<std::size_t>(static_cast<double>(count) * wanted_.occupancy / 100);
  for (; count > keep; --count) {
    std::swap(all[random.below(count)], all[count - 1]);
    release_stamped(heap, all[count - 1], stamp_of(thread));
  }
  blocks_[thread] = all.first(keep);
}

void aged_heap::release() {
  plain_heap heap;
  for (std::size_t thread = 0; thread < blocks_.size(); ++thread) {
    for (const block& memory : blocks_[thread]) release_stamped(heap, memory, stamp_of(thread));
    blocks_[thread] = {};
  }
}

std::uint64_t aged_heap::live_bytes() const {
  std::uint64_t bytes = 0;
  for (const std::span<block>& of_thread : blocks_)
    for (const block& memory : of_thread) bytes += memory.bytes;
  return bytes;
}

}  // namespace heaplab::harness
