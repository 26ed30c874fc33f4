#include "heaplab/local/monotonic.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cstring>
#include <vector>

#include "heaplab/local/counting.h"

namespace heaplab::local {
namespace {

using counted = monotonic<counting<>>;

std::byte* bytes_of(void* block) {
  return static_cast<std::byte*>(block);
}

TEST(monotonic, the_buffer_is_used_first_and_front_to_back) {
  alignas(16) std::array<std::byte, 64> buffer;
  counting<> upstream;
  counted source({.buffer = buffer}, upstream);
  EXPECT_EQ(source.allocate(10, 1), &buffer[0]);
  EXPECT_EQ(source.allocate(8, 8), &buffer[16]);
  EXPECT_EQ(source.room(), 40);
  EXPECT_EQ(source.allocate(40, 8), &buffer[24]);
  EXPECT_EQ(source.room(), 0);
  EXPECT_EQ(upstream.counts().allocations, 0);
  (void)source.allocate(1, 1);
  EXPECT_EQ(upstream.counts().allocations, 1);
}

TEST(monotonic, a_block_that_does_not_fit_leaves_the_rest_of_the_buffer_unused) {
  alignas(16) std::array<std::byte, 64> buffer;
  monotonic<> source({.buffer = buffer});
  (void)source.allocate(60, 1);
  std::byte* outside = bytes_of(source.allocate(8, 1));
  EXPECT_TRUE(outside < buffer.data() || outside >= buffer.data() + buffer.size());
}

TEST(monotonic, deallocate_gives_nothing_back) {
  monotonic<> source;
  void* first = source.allocate(8, 8);
  source.deallocate(first, 8, 8);
  EXPECT_EQ(source.allocate(8, 8), bytes_of(first) + 8);
}

// Bytes of the chunks that a source asks for while it hands out `total` bytes, 8 at a time.
std::vector<std::size_t> chunks(const monotonic_options& options, std::size_t total) {
  counting<> upstream;
  counted source(options, upstream);
  std::vector<std::size_t> sizes;
  for (std::size_t done = 0; done < total; done += 8) {
    const std::size_t before = upstream.counts().total_bytes;
    (void)source.allocate(8, 8);
    const std::size_t chunk = upstream.counts().total_bytes - before;
    if (chunk != 0) sizes.push_back(chunk - sizeof(block_list::link));
  }
  return sizes;
}

TEST(monotonic, chunks_grow_fourfold_up_to_the_largest) {
  EXPECT_EQ(chunks({.first_chunk = 64, .largest_chunk = 600}, 2000),
            (std::vector<std::size_t>{64, 256, 600, 600, 600}));
}

// Page faults of this process while `rounds` sources, after each other, hand out `total` bytes each.
long faults_of_rounds(int rounds, std::size_t total) {
  rusage before;
  rusage after;
  getrusage(RUSAGE_SELF, &before);
  for (int round = 0; round < rounds; ++round) {
    monotonic<> source;
    for (std::size_t done = 0; done < total; done += 64) std::memset(source.allocate(64, 8), 0x5a, 64);
  }
  getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

TEST(monotonic, the_c_library_keeps_the_chunks_of_a_round_for_the_next) {
#ifdef HEAPLAB_LOCAL_POISON
  GTEST_SKIP() << "the sanitizer's malloc is not the C library's";
#endif
  constexpr int rounds = 100;
  constexpr std::size_t page = 4096;
  for (const std::size_t total : {std::size_t{200} << 10, std::size_t{700} << 10, std::size_t{3} << 20}) {
    const auto pages = static_cast<long>(total / page);
    EXPECT_LT(faults_of_rounds(rounds, total), 10 * pages) << total;  // of 100 * pages that are touched
  }
}

TEST(monotonic, doubling_growth_asks_for_twice_as_much_up_to_the_largest) {
  EXPECT_EQ(chunks({.first_chunk = 64, .largest_chunk = 200, .chunk_growth = growth::doubling}, 700),
            (std::vector<std::size_t>{64, 128, 200, 200, 200}));
}

TEST(monotonic, constant_growth_asks_for_equal_chunks) {
  EXPECT_EQ(chunks({.first_chunk = 64, .chunk_growth = growth::constant}, 200),
            (std::vector<std::size_t>{64, 64, 64, 64}));
}

TEST(monotonic, the_first_chunk_is_as_large_as_the_buffer_within_bounds) {
  std::vector<std::byte> buffer(std::size_t{3} << 20);
  EXPECT_EQ(chunks({}, 8), std::vector<std::size_t>{1024});
  EXPECT_EQ(chunks({.buffer = {buffer.data(), 5000}}, 5008), std::vector<std::size_t>{5000});
  EXPECT_EQ(chunks({.buffer = buffer}, buffer.size() + 8), std::vector<std::size_t>{1 << 20});
}

TEST(monotonic, a_first_chunk_above_the_largest_stays_as_asked) {
  EXPECT_EQ(chunks({.first_chunk = 128, .largest_chunk = 64}, 200), (std::vector<std::size_t>{128, 128}));
}

TEST(monotonic, a_block_too_large_for_the_next_chunk_gets_its_own_and_the_chunk_in_use_stays) {
  counting<> upstream;
  counted source({.first_chunk = 64}, upstream);
  void* before = source.allocate(8, 8);
  (void)source.allocate(1000, 8);
  EXPECT_EQ(source.allocate(8, 8), bytes_of(before) + 8);
  EXPECT_EQ(upstream.counts().allocations, 2);
}

TEST(monotonic, a_block_with_its_own_chunk_counts_as_growth) {
  counting<> upstream;
  counted source({.first_chunk = 64}, upstream);
  for (int i = 0; i < 20; ++i) (void)source.allocate(1000, 8);
  EXPECT_LT(upstream.counts().allocations, 15);
}

TEST(monotonic, release_gives_back_what_rewind_kept) {
  counting<> upstream;
  counted source({}, upstream);
  (void)source.allocate(8, 8);
  source.rewind();
  EXPECT_EQ(upstream.counts().live_blocks(), 1);
  source.release();
  EXPECT_EQ(upstream.counts().live_blocks(), 0);
}

TEST(monotonic, a_request_without_alignment_follows_the_rule) {
  const auto second = [](alignment_rule rule, std::size_t bytes) {
    monotonic<> source({.alignment = rule});
    std::byte* first = bytes_of(source.allocate(1, maximum_alignment));
    return bytes_of(source.allocate(bytes)) - first;
  };
  EXPECT_EQ(second(alignment_rule::natural, 3), 1);
  EXPECT_EQ(second(alignment_rule::natural, 6), 2);
  EXPECT_EQ(second(alignment_rule::natural, 24), 8);
  EXPECT_EQ(second(alignment_rule::natural, 64), 16);
  EXPECT_EQ(second(alignment_rule::natural, 0), 16);
  EXPECT_EQ(second(alignment_rule::maximum, 3), 16);
  EXPECT_EQ(second(alignment_rule::byte, 64), 1);
}

TEST(monotonic, the_latest_block_shrinks_and_grows_in_place) {
  monotonic<> source({.first_chunk = 64});
  void* block = source.allocate(16, 8);
  std::memset(block, 0x5a, 16);
  EXPECT_TRUE(source.try_resize(block, 16, 64));
  EXPECT_EQ(bytes_of(block)[15], std::byte{0x5a});
  EXPECT_EQ(source.room(), 0);
  EXPECT_TRUE(source.try_resize(block, 64, 8));
  EXPECT_EQ(source.room(), 56);
  EXPECT_EQ(source.allocate(8, 8), bytes_of(block) + 8);
}

TEST(monotonic, another_block_or_too_large_a_size_is_not_resized) {
  monotonic<> source({.first_chunk = 64});
  void* first = source.allocate(16, 8);
  void* latest = source.allocate(16, 8);
  EXPECT_FALSE(source.try_resize(first, 16, 8));
  EXPECT_FALSE(source.try_resize(latest, 16, 49));
  EXPECT_EQ(source.room(), 32);
  EXPECT_TRUE(source.try_resize(latest, 16, 48));
}

TEST(monotonic, rewind_keeps_chunks_and_gives_back_only_those_of_one_block) {
  counting<> upstream;
  alignas(16) std::array<std::byte, 64> buffer;
  counted source({.buffer = buffer, .first_chunk = 64}, upstream);
  const auto round = [&] {
    EXPECT_EQ(source.allocate(64, 8), buffer.data());
    for (int i = 0; i < 20; ++i) std::memset(source.allocate(8, 8), 0x5a, 8);
  };
  round();
  (void)source.allocate(5000, 8);
  EXPECT_EQ(upstream.counts().live_blocks(), 3);  // 64, 256, 5000
  source.rewind();
  EXPECT_EQ(upstream.counts().live_blocks(), 2);
  const std::size_t before = upstream.counts().allocations;
  round();
  EXPECT_EQ(upstream.counts().allocations, before);
}

TEST(monotonic, release_begins_again_with_the_buffer_and_the_first_chunk) {
  counting<> upstream;
  alignas(16) std::array<std::byte, 64> buffer;
  counted source({.buffer = buffer, .first_chunk = 64}, upstream);
  for (int i = 0; i < 100; ++i) (void)source.allocate(8, 8);
  source.release();
  EXPECT_EQ(upstream.counts().live_bytes, 0);
  EXPECT_EQ(source.allocate(64, 8), buffer.data());
  const std::size_t before = upstream.counts().total_bytes;
  (void)source.allocate(8, 8);
  EXPECT_EQ(upstream.counts().total_bytes - before, 64 + sizeof(block_list::link));
}

}  // namespace
}  // namespace heaplab::local
