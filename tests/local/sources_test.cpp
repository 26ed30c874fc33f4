// What every source must do, asked of each: as a type and as a memory resource.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <vector>

#include "heaplab/local/local.h"

namespace heaplab::local {
namespace {

struct block {
  std::byte* start;
  std::size_t bytes;
  std::size_t alignment;
};

bool is_aligned(const void* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

// A limit that is never reached.
struct unlimited : limiting<> {
  unlimited() : limiting(allocation_limits{}) {}
};

struct paper_multipool : multipool<new_delete, no_lock, pool_layout{.steps_per_doubling = 1}> {};

template <class Source>
class sources_test : public testing::Test {
protected:
  Source source_;
};

using kinds = testing::Types<new_delete, monotonic<>, multipool<>, paper_multipool, synchronized_multipool<>,
                             multipool_over_monotonic<>, counting<>, unlimited, resource<new_delete>,
                             resource<paper_multipool>, monotonic_resource, multipool_resource,
                             synchronized_multipool_resource, multipool_over_monotonic_resource>;
TYPED_TEST_SUITE(sources_test, kinds);

TYPED_TEST(sources_test, blocks_are_aligned_and_apart_for_all_sizes_and_alignments) {
  std::vector<block> blocks;
  std::map<std::byte*, std::size_t> taken;
  for (std::size_t alignment = 1; alignment <= 8192; alignment *= 2) {
    for (const std::size_t bytes :
         {1, 7, 8, 9, 16, 24, 33, 64, 100, 128, 1000, 1024, 4000, 4096, 4097, 50000}) {
      auto* start = static_cast<std::byte*>(this->source_.allocate(bytes, alignment));
      ASSERT_TRUE(is_aligned(start, alignment)) << bytes << " aligned to " << alignment;
      std::memset(start, 0x5a, bytes);
      taken[start] = bytes;
      blocks.push_back({start, bytes, alignment});
    }
  }
  ASSERT_EQ(taken.size(), blocks.size());
  const std::byte* end = nullptr;
  for (const auto& [start, bytes] : taken) {
    ASSERT_GE(start, end);
    end = start + bytes;
  }
  for (const block& each : blocks) this->source_.deallocate(each.start, each.bytes, each.alignment);
}

TYPED_TEST(sources_test, no_bytes_are_a_block_too) {
  for (const std::size_t alignment : {1, 16, 64, 128}) {
    void* nothing = this->source_.allocate(0, alignment);
    EXPECT_NE(nothing, nullptr);
    EXPECT_TRUE(is_aligned(nothing, alignment));
    this->source_.deallocate(nothing, 0, alignment);
  }
}

// Managed sources, over an upstream that counts.
template <class Source>
class sources_managed_test : public testing::Test {
protected:
  void fill() {
    for (std::size_t bytes = 1; bytes < 20000; bytes += bytes / 4 + 1) {
      std::memset(source_.allocate(bytes, 8), 0x5a, bytes);
      source_.deallocate(source_.allocate(bytes, 8), bytes, 8);
    }
  }

  counting<> upstream_;
  Source source_{{}, upstream_};
};

using managed_kinds =
    testing::Types<monotonic<counting<>>, multipool<counting<>>, synchronized_multipool<counting<>>,
                   multipool_over_monotonic<counting<>>, resource<monotonic<counting<>>>,
                   resource<multipool_over_monotonic<counting<>, std::mutex>>>;
TYPED_TEST_SUITE(sources_managed_test, managed_kinds);

TYPED_TEST(sources_managed_test, release_gives_all_memory_back_and_the_source_goes_on) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(this->upstream_.counts().live_blocks(), 0);
    this->fill();
    EXPECT_GT(this->upstream_.counts().live_blocks(), 0);
    this->source_.release();
    EXPECT_EQ(this->upstream_.counts().live_bytes, 0);
  }
}

TYPED_TEST(sources_managed_test, nothing_is_asked_of_upstream_before_the_first_allocation) {
  EXPECT_EQ(this->upstream_.counts().allocations, 0);
}

// Above an upstream that refuses what no machine has, as a global allocator may not.
template <class Source>
class sources_bounded_test : public testing::Test {};

using bounded_kinds = testing::Types<monotonic<limiting<>>, multipool<limiting<>>,
                                     multipool_over_monotonic<limiting<>>, resource<multipool<limiting<>>>>;
TYPED_TEST_SUITE(sources_bounded_test, bounded_kinds);

TYPED_TEST(sources_bounded_test, huge_requests_throw_and_harm_nothing) {
  limiting<> upstream({.live_bytes = std::size_t{1} << 20});
  TypeParam source({}, upstream);
  auto* before = static_cast<char*>(source.allocate(100, 1));
  std::memset(before, 1, 100);
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes : {most, most - 15, most - 63, most - 4095, most / 2 + 1, most / 2}) {
    for (const std::size_t alignment :
         {std::size_t{1}, std::size_t{16}, std::size_t{64}, std::size_t{4096}, most / 4 + 1, most / 2 + 1}) {
      EXPECT_THROW((void)source.allocate(bytes, alignment), std::bad_alloc) << bytes << " at " << alignment;
    }
  }
  EXPECT_THROW((void)source.allocate(1, most / 2 + 1), std::bad_alloc);
  auto* after = static_cast<char*>(source.allocate(100, 1));
  std::memset(after, 2, 100);
  EXPECT_EQ(before[99], 1);
}

TEST(sources, new_delete_refuses_a_size_that_would_wrap_when_aligned) {
  volatile std::size_t most = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW((void)new_delete().allocate(most, 64), std::bad_alloc);
}

TEST(sources, the_destructor_releases) {
  counting<> upstream;
  {
    monotonic<counting<>> first({}, upstream);
    multipool<counting<>> second({}, upstream);
    multipool_over_monotonic<counting<>> third({}, upstream);
    (void)first.allocate(10, 1);
    (void)second.allocate(10, 1);
    (void)second.allocate(10000, 1);
    (void)third.allocate(10, 1);
    (void)third.allocate(10000, 1);
    EXPECT_EQ(upstream.counts().live_blocks(), 5);
  }
  EXPECT_EQ(upstream.counts().live_bytes, 0);
}

TEST(sources, counting_counts_calls_and_bytes) {
  counting<> source;
  void* first = source.allocate(100, 1);
  void* second = source.allocate(50, 1);
  source.deallocate(first, 100, 1);
  void* third = source.allocate(20, 1);
  const allocation_counts& counts = source.counts();
  EXPECT_EQ(counts.allocations, 3);
  EXPECT_EQ(counts.deallocations, 1);
  EXPECT_EQ(counts.live_blocks(), 2);
  EXPECT_EQ(counts.live_bytes, 70);
  EXPECT_EQ(counts.peak_bytes, 150);
  EXPECT_EQ(counts.total_bytes, 170);
  source.deallocate(second, 50, 1);
  source.deallocate(third, 20, 1);
}

TEST(sources, limiting_keeps_both_limits) {
  limiting<> source({.live_bytes = 100, .allocations = 3});
  EXPECT_THROW((void)source.allocate(101, 1), std::bad_alloc);
  void* first = source.allocate(100, 1);
  EXPECT_THROW((void)source.allocate(1, 1), std::bad_alloc);
  source.deallocate(first, 100, 1);
  source.deallocate(source.allocate(60, 1), 60, 1);
  void* third = source.allocate(40, 1);
  EXPECT_EQ(source.left().live_bytes, 60);
  EXPECT_THROW((void)source.allocate(1, 1), std::bad_alloc);
  source.deallocate(third, 40, 1);
}

}  // namespace
}  // namespace heaplab::local
