// Random calls, checked against a model that knows every live block and its contents. Upstream fails now and
// then: a failed call must change nothing.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "heaplab/local/local.h"

namespace heaplab::local {
namespace {

// Fails every allocation whose number is a multiple of `period`; 0: none.
class flaky {
public:
  explicit flaky(std::size_t period) : period_(period) {}

  void* allocate(std::size_t bytes, std::size_t alignment) {
    if (period_ != 0 && ++calls_ % period_ == 0) throw std::bad_alloc();
    return upstream_.allocate(bytes, alignment);
  }

  void deallocate(void* block, std::size_t bytes, std::size_t alignment) {
    upstream_.deallocate(block, bytes, alignment);
  }

  const allocation_counts& counts() const { return upstream_.counts(); }

private:
  counting<> upstream_;
  std::size_t period_;
  std::size_t calls_ = 0;
};

struct live_block {
  std::size_t bytes;
  std::size_t alignment;
  unsigned char fill;
};

// Sizes of all pools and beyond, the small ones most often.
rc::Gen<std::size_t> any_size() {
  return rc::gen::weightedOneOf<std::size_t>({{8, rc::gen::inRange<std::size_t>(0, 130)},
                                              {3, rc::gen::inRange<std::size_t>(130, 4200)},
                                              {1, rc::gen::inRange<std::size_t>(4200, 20000)}});
}

template <class Source>
class model {
public:
  explicit model(Source& source) : source_(source) {}

  void allocate() {
    const std::size_t bytes = *any_size();
    const std::size_t alignment = std::size_t{1} << *rc::gen::inRange(0, 9);
    void* start = nullptr;
    try {
      start = source_.allocate(bytes, alignment);
    } catch (const std::bad_alloc&) {
      return;
    }
    RC_ASSERT(reinterpret_cast<std::uintptr_t>(start) % alignment == 0);
    if (bytes == 0) return source_.deallocate(start, 0, alignment);
    check_apart(static_cast<unsigned char*>(start), bytes);
    const auto fill = static_cast<unsigned char>(++serial_);
    std::memset(start, fill, bytes);
    live_[static_cast<unsigned char*>(start)] = {bytes, alignment, fill};
  }

  void deallocate() {
    if (live_.empty()) return;
    const auto which = std::next(live_.begin(), *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(live_)));
    check(*which);
    source_.deallocate(which->first, which->second.bytes, which->second.alignment);
    live_.erase(which);
  }

  void release() {
    for (const auto& each : live_) check(each);
    live_.clear();
    source_.release();
  }

private:
  void check_apart(const unsigned char* start, std::size_t bytes) const {
    const auto after = live_.lower_bound(const_cast<unsigned char*>(start));
    RC_ASSERT(after == live_.end() || start + bytes <= after->first);
    if (after == live_.begin()) return;
    const auto before = std::prev(after);
    RC_ASSERT(before->first + before->second.bytes <= start);
  }

  static void check(const std::pair<unsigned char* const, live_block>& each) {
    for (std::size_t i = 0; i < each.second.bytes; ++i) RC_ASSERT(each.first[i] == each.second.fill);
  }

  Source& source_;
  std::map<unsigned char*, live_block> live_;
  unsigned serial_ = 0;
};

template <class Source>
class model_test : public testing::Test {};

using kinds = testing::Types<monotonic<flaky>, multipool<flaky>, multipool<flaky, std::mutex>,
                             multipool<flaky, no_lock, pool_layout{.steps_per_doubling = 1}>,
                             multipool_over_monotonic<flaky>, resource<multipool<flaky>>>;
TYPED_TEST_SUITE(model_test, kinds);

TYPED_TEST(model_test, live_blocks_are_apart_and_intact) {
  EXPECT_TRUE(rc::check([] {
    flaky upstream(*rc::gen::element<std::size_t>(0, 2, 5));
    {
      TypeParam source({}, upstream);
      model<TypeParam> calls(source);
      const int steps = *rc::gen::inRange(1, 300);
      for (int i = 0; i < steps; ++i) {
        const int what = *rc::gen::inRange(0, 100);
        if (what < 60) {
          calls.allocate();
        } else if (what < 98) {
          calls.deallocate();
        } else {
          calls.release();
          RC_ASSERT(upstream.counts().live_bytes == 0u);
        }
      }
    }
    RC_ASSERT(upstream.counts().live_bytes == 0u);
  }));
}

TEST(model, monotonic_rewind_and_resize_keep_the_other_blocks_intact) {
  EXPECT_TRUE(rc::check([] {
    flaky upstream(*rc::gen::element<std::size_t>(0, 3));
    std::vector<std::byte> buffer(*rc::gen::inRange<std::size_t>(0, 600));
    monotonic<flaky> source({.buffer = buffer, .first_chunk = *rc::gen::inRange<std::size_t>(1, 300)},
                            upstream);
    std::vector<std::pair<unsigned char*, std::size_t>> blocks;
    const int steps = *rc::gen::inRange(1, 100);
    for (int i = 0; i < steps; ++i) {
      const int what = *rc::gen::inRange(0, 20);
      const auto bytes = *rc::gen::inRange<std::size_t>(1, 200);
      if (what == 0) {
        source.rewind();
        blocks.clear();
      } else if (what < 8 && !blocks.empty()) {
        if (source.try_resize(blocks.back().first, blocks.back().second, bytes)) blocks.back().second = bytes;
      } else {
        try {
          blocks.emplace_back(static_cast<unsigned char*>(source.allocate(bytes)), bytes);
        } catch (const std::bad_alloc&) {
        }
      }
      for (std::size_t b = 0; b < blocks.size(); ++b) std::memset(blocks[b].first, int(b), blocks[b].second);
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        for (std::size_t j = 0; j < blocks[b].second; ++j) {
          RC_ASSERT(blocks[b].first[j] == static_cast<unsigned char>(b));
        }
      }
    }
  }));
}

}  // namespace
}  // namespace heaplab::local
