#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "probes/off_heap_pages.h"
#include "workloads/harness/harness.h"

namespace heaplab::strategies {

// The state in which other parts of a program leave the global allocator (P0213, section 13): blocks of 1 to
// 1024 bytes, all sizes equally likely, of which a random share is freed before the benchmark begins.
class fragments {
public:
  void declare(harness::option_table& options) {
    options.count("fragments", count_, {0, 100'000'000},
                  "Blocks that were allocated from the global allocator before");
    options.percent("freed", freed_, "Share of them that was freed again, at random");
  }

  // Upper bound of the memory of all blocks, before some are freed.
  std::uint64_t bytes() const { return count_ * (largest / 2 + 24 + sizeof(harness::block)); }

  void allocate(std::uint64_t seed) {
    if (count_ == 0) return;
    harness::plain_heap heap;
    harness::random_stream random(seed, 1);
    pages_.emplace(harness::take_pages(probes::off_heap_pages::needed<harness::block>(count_)));
    blocks_ = pages_->array<harness::block>(count_);
    for (harness::block& fragment : blocks_)
      fragment = harness::allocate_stamped(heap, random.between(1, largest), stamp);
    const auto freed = static_cast<std::size_t>(std::llround(static_cast<double>(count_) * freed_ / 100));
    for (std::size_t left = count_; left > count_ - freed; --left) {
      std::swap(blocks_[random.below(left)], blocks_[left - 1]);
      harness::release_stamped(heap, blocks_[left - 1], stamp);
    }
    blocks_ = blocks_.first(count_ - freed);
  }

  // Checks and frees the remaining blocks.
  void release() {
    harness::plain_heap heap;
    for (const harness::block& fragment : blocks_) harness::release_stamped(heap, fragment, stamp);
    blocks_ = {};
  }

private:
  static constexpr std::uint64_t largest = 1024;
  static constexpr std::uint8_t stamp = 0xa5;

  std::uint64_t count_ = 0;
  double freed_ = 100;
  std::optional<probes::off_heap_pages> pages_;
  std::span<harness::block> blocks_;
};

}  // namespace heaplab::strategies
