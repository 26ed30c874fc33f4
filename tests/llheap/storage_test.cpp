// Where memory comes from. Policies of this file's own, so that no other test has used the storage.
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "heaps.h"

namespace heaplab::llheap {
namespace {

template <std::size_t AreaBytes, std::size_t BufferBytes, std::size_t Threshold>
struct policy {
  static limits at_start() { return {AreaBytes, BufferBytes, Threshold, 1}; }
};

template <class Policy>
using heap_of = heap_for<plain, Policy>;

TEST(storage, buffers_of_one_thread_continue_each_other) {
  using heap = heap_of<policy<8 * mib, 64 * kib, mib>>;
  for (int i = 0; i < 4000; ++i) heap::allocate(1000);  // 4 MiB and more
  const storage_counts counts = heap::storage().counts();
  EXPECT_EQ(counts.buffers_apart, 1U);
  EXPECT_GE(counts.buffers_contiguous, 60U);
  EXPECT_EQ(counts.areas, 1U);
}

TEST(storage, a_request_larger_than_an_area_gets_one_of_its_size) {
  using heap = heap_of<policy<2 * mib, 128 * kib, 64 * mib>>;
  void* const block = heap::allocate(30 * mib);
  ASSERT_NE(block, nullptr);
  std::memset(block, 1, 30 * mib);
  EXPECT_EQ(heap::statistics().mappings, 0U);
  EXPECT_GE(heap::storage().counts().area_bytes, 30 * mib);
  heap::deallocate(block);
  EXPECT_EQ(heap::allocate(30 * mib), block);
}

TEST(storage, there_is_no_last_area) {
  shared_storage<> storage{limits_of(plain)};
  storage.start({2 * mib, 64 * kib, mib, 1});
  std::vector<char*> areas;
  for (int i = 0; i < 5000; ++i) {
    const extent all = storage.carve(2 * mib);
    ASSERT_NE(all.start, nullptr) << i;
    areas.push_back(all.start);
  }
  EXPECT_EQ(storage.counts().areas, 5000U);
  for (char* const area : areas) {
    ASSERT_TRUE(storage.is_in_area(area));
    ASSERT_TRUE(storage.is_in_area(area + 2 * mib - 1));
  }
  int local;
  EXPECT_FALSE(storage.is_in_area(&local));
  for (char* const area : areas) os_pages::unmap(area, 2 * mib);
}

TEST(storage, what_is_left_of_a_buffer_serves_the_bucket_it_fits) {
  using heap = heap_of<policy<8 * mib, 64 * kib, mib>>;
  static std::atomic<int> turn = 0;
  char* last = nullptr;
  // Another thread takes the next buffer, so that this one's cannot be continued.
  while (heap::my_heap()->uncarved_bytes() == 0 || heap::my_heap()->uncarved_bytes() > 5000)
    last = static_cast<char*>(heap::allocate(4096));
  const std::size_t left = heap::my_heap()->uncarved_bytes();
  ASSERT_GE(left, 1100U);
  in_another_thread([] { heap::allocate(10); });
  for (int i = 0; heap::storage().counts().buffers_apart < 3 && i < 5; ++i) heap::allocate(4096);
  std::size_t bucket = bucket_of(left - 16);
  if (bucket_bytes(bucket) > left - 16) --bucket;
  EXPECT_EQ(heap::allocate(bucket_bytes(bucket)), last + 4096 + 16);
}

std::size_t resident_pages(void* block, std::size_t size) {
  const std::size_t page = os_pages::page_bytes();
  std::vector<unsigned char> pages(size / page + 2);
  char* const start = static_cast<char*>(block) - reinterpret_cast<std::uintptr_t>(block) % page;
  if (mincore(start, size, pages.data()) != 0) return 0;
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char state) { return (state & 1) != 0; }));
}

TEST(storage, large_free_blocks_keep_a_bounded_number_of_pages) {
  using heap = heap_of<policy<128 * mib, 2 * mib, 32 * mib>>;
  constexpr std::size_t size = mib / 10 * 11, count = 200;
  const auto fill_and_free = [] {
    std::vector<void*> blocks(count);
    for (void*& block : blocks) std::memset(block = heap::allocate(size), 1, size);
    EXPECT_EQ(heap::retained_large().bytes(), 0U);
    for (void* const block : blocks) heap::deallocate(block);
    return blocks;
  };
  auto first = fill_and_free();
  EXPECT_LE(heap::retained_large().bytes(), plain.retained_large_bytes);
  EXPECT_GT(heap::retained_large().bytes(), plain.retained_large_bytes / 2);
  std::size_t pages = 0;
  for (void* const block : first) pages += resident_pages(block, size);
  EXPECT_LE(pages, plain.retained_large_bytes / os_pages::page_bytes() + 2 * count);
  // New blocks get the addresses of the freed ones.
  auto second = fill_and_free();
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
}

TEST(storage, what_an_ended_thread_left_serves_others_before_new_memory) {
  using heap = heap_of<policy<16 * mib, 64 * kib, mib>>;
  const auto use = [] {
    std::vector<void*> blocks(1000);
    for (void*& block : blocks) block = heap::allocate(3000);
    for (void* const block : blocks) heap::deallocate(block);
  };
  heap::deallocate(heap::allocate(10));
  in_another_thread(use);
  const auto before = heap::storage().counts().carved_bytes;
  use();
  EXPECT_LE(heap::storage().counts().carved_bytes, before + 64 * kib);
}

TEST(storage, above_the_threshold_blocks_are_mappings_given_back_when_freed) {
  using heap = heap_of<policy<8 * mib, 128 * kib, 100'000>>;
  void* const below = heap::allocate(100'000);
  EXPECT_EQ(heap::statistics().mappings, 0U);
  void* const above = heap::allocate(100'001);
  EXPECT_EQ(heap::statistics().mappings, 1U);
  EXPECT_FALSE(heap::is_remote(above));
  heap::deallocate(above);
  EXPECT_EQ(heap::statistics().mapped, 0U);
  heap::storage().set_mapping_threshold(200'000);
  heap::deallocate(heap::allocate(150'000));
  EXPECT_EQ(heap::mapped_blocks().maps(), 1U);
  heap::deallocate(below);
}

TEST(storage, limits_out_of_range_are_brought_into_it) {
  using heap = heap_of<policy<0, 1, SIZE_MAX>>;
  void* const block = heap::allocate(10);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(heap::storage().current_limits().thread_buffer_bytes, 64 * kib);
  EXPECT_EQ(heap::storage().current_limits().area_bytes, os_pages::huge_page_bytes);
  EXPECT_EQ(heap::storage().mapping_threshold(), largest_bucketed);
  EXPECT_NE(heap::allocate(largest_bucketed), nullptr);
  EXPECT_NE(heap::allocate(largest_bucketed + 1), nullptr);
  EXPECT_EQ(heap::statistics().mappings, 1U);
}

TEST(storage, statistics_count_what_is_held_and_what_is_live) {
  using heap = heap_of<policy<8 * mib, 2 * mib, 4 * mib>>;
  void* const a = heap::allocate(1000);
  void* const b = heap::allocate(1024);
  heap_statistics now = heap::statistics();
  EXPECT_EQ(now.reserved, 8 * mib);
  EXPECT_EQ(now.committed, 2U * (1024 + 16));
  EXPECT_EQ(now.live, 2U * (1024 + 16));
  heap::deallocate(a);
  in_another_thread([&] { heap::deallocate(b); });
  now = heap::statistics();
  EXPECT_EQ(now.committed, 2U * (1024 + 16));
  EXPECT_EQ(now.live, 0U);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(storage, smaller_areas_do_when_address_space_is_short) {
  using heap = heap_of<policy<std::size_t{1} << 40, 2 * mib, 4 * mib>>;
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit little{.rlim_cur = std::size_t{4} << 30, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_AS, &little);
  void* const block = heap::allocate(1000);
  void* const too_much = heap::allocate_zeroed(std::size_t{8} << 30);
  setrlimit(RLIMIT_AS, &before);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(too_much, nullptr);
  std::memset(block, 1, 1000);
}
#endif

}  // namespace
}  // namespace heaplab::llheap
