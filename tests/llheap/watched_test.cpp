// Statistics, and what the debug build notices.
#include <unistd.h>

#include <cstring>
#include <string>

#include "heaps.h"

namespace heaplab::llheap {
namespace {

// What a function writes to a file descriptor.
template <class Writer>
std::string written_by(Writer writer) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  writer(ends[1]);
  close(ends[1]);
  std::string text(65536, '\0');
  std::size_t length = 0;
  for (ssize_t got; (got = read(ends[0], text.data() + length, text.size() - length)) > 0;)
    length += static_cast<std::size_t>(got);
  close(ends[0]);
  text.resize(length);
  return text;
}

struct counting_policy : fixed_policy<counting> {};
using counted = heap_for<counting, counting_policy>;

routine_totals totals_of(routine which) {
  return take_account<counted>().totals[static_cast<std::size_t>(which)];
}

TEST(watched, counting_every_routine_has_its_row) {
  const auto calls = [] {
    std::array<std::uint64_t, routine_count> result{};
    for (std::size_t i = 0; i < routine_count; ++i) result[i] = totals_of(static_cast<routine>(i)).calls;
    return result;
  };
  const auto before = calls();
  void* block = counted::allocate(10);
  block = counted::reallocate(block, 1000);
  block = counted::resize(block, 2000);
  block = counted::reallocate_aligned(block, 64, 100);
  block = counted::resize_aligned(block, 64, 100);
  counted::deallocate(block);
  counted::deallocate(counted::allocate_array(10));
  counted::deallocate(counted::allocate_zeroed(10));
  counted::deallocate(counted::allocate_aligned(64, 10));
  counted::deallocate(counted::allocate_aligned_array(64, 10));
  counted::deallocate(counted::allocate_aligned_zeroed(64, 10));
  block = counted::allocate(12'345);
  in_another_thread([&] { counted::deallocate(block); });
  counted::deallocate(counted::allocate(12'345));
  const auto after = calls();
  const std::array<std::uint64_t, routine_count> expected = {3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 8, 1, 1};
  for (std::size_t i = 0; i < routine_count; ++i)
    EXPECT_EQ(after[i] - before[i], expected[i]) << routine_names[i];
}

TEST(watched, counting_bytes_asked_for_and_handed_out) {
  const routine_totals before = totals_of(routine::malloc);
  void* const none = counted::allocate(0);
  void* const some = counted::allocate(130);
  const routine_totals after = totals_of(routine::malloc);
  EXPECT_EQ(after.zero_byte_calls - before.zero_byte_calls, 1U);
  EXPECT_EQ(after.requested_bytes - before.requested_bytes, 130U);
  EXPECT_EQ(after.usable_bytes - before.usable_bytes, 16U + 160U);
  counted::deallocate(none);
  counted::deallocate(some);
}

TEST(watched, counting_live_bytes_are_exact_whoever_frees) {
  const std::size_t before = counted::statistics().live;
  void* a = counted::allocate(1000);
  void* const b = counted::allocate_aligned(4096, 1000);
  a = counted::reallocate(a, 5000);
  void* const mapped_block = counted::allocate(100 * mib);
  EXPECT_EQ(counted::statistics().live, before + counted::usable_size(a) + counted::usable_size(b));
  counted::deallocate(mapped_block);
  in_another_thread([&] {
    counted::deallocate(a);
    counted::deallocate(b);
  });
  EXPECT_EQ(counted::statistics().live, before);
}

TEST(watched, counting_a_block_that_resize_could_not_replace_is_not_live) {
  const std::size_t before = counted::statistics().live;
  EXPECT_EQ(counted::resize(counted::allocate(100), PTRDIFF_MAX), nullptr);
  EXPECT_EQ(counted::statistics().live, before);
}

TEST(watched, counting_clearing_starts_the_rows_again) {
  counted::deallocate(counted::allocate(10));
  counted::clear_statistics();
  counted::deallocate(counted::allocate_zeroed(10));
  const std::string text = written_by([](int fd) { counted::print(fd, false); });
  EXPECT_NE(text.find("llheap: malloc calls 0 "), std::string::npos) << text;
  EXPECT_NE(text.find("llheap: calloc calls 1 zero-byte 0 requested 10 usable 16 "), std::string::npos)
      << text;
  EXPECT_NE(text.find("llheap: free calls 1 "), std::string::npos) << text;
}

TEST(watched, counting_buckets_are_listed_on_request) {
  counted::deallocate(counted::allocate(12'288));
  EXPECT_EQ(written_by([](int fd) { counted::print(fd, false); }).find("bucket"), std::string::npos);
  EXPECT_NE(written_by([](int fd) { counted::print(fd, true); }).find("bucket bytes 12288 free 1"),
            std::string::npos);
}

TEST(watched, counting_the_own_heap_alone) {
  std::string text;
  in_another_thread([&] {
    counted::deallocate(counted::allocate_aligned(64, 10));
    text = written_by([](int fd) { counted::print_own_heap(fd); });
  });
  EXPECT_NE(text.find("llheap: memalign calls "), std::string::npos);
}

struct leaky_policy : fixed_policy<debugging> {};
using leaky = heap_for<debugging, leaky_policy>;

TEST(watched, debugging_unfreed_storage_is_told_beyond_what_is_forgiven) {
  void* const kept = leaky::allocate(1000);
  const auto report = [](std::size_t forgiven) {
    return written_by([&](int fd) { leaky::print_unfreed(fd, forgiven); });
  };
  EXPECT_EQ(report(0), "llheap: unfreed bytes 1024\n");
  EXPECT_EQ(report(1000), "llheap: unfreed bytes 24\n");
  EXPECT_EQ(report(1024), "");
  leaky::deallocate(kept);
  EXPECT_EQ(report(0), "");
}

TEST(watched, debugging_both_ends_of_a_block_are_overwritten) {
  void* const block = small_debugging::allocate(1000);
  EXPECT_EQ(bytes(block)[0], 0xff);
  EXPECT_EQ(bytes(block)[1023], 0xff);
  std::memset(block, 0, 1024);
  small_debugging::deallocate(block);
  EXPECT_EQ(bytes(block)[0], 0xff);
  EXPECT_EQ(bytes(block)[1023], 0xff);
  EXPECT_EQ(bytes(block)[500], 0);
}

TEST(watched, debugging_what_is_no_block_is_named) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  static char here[4096];
  EXPECT_DEATH(small_debugging::deallocate(here + 64 - reinterpret_cast<std::uintptr_t>(here) % 64),
               "llheap: pointer is no block: 0x");
  EXPECT_DEATH(small_debugging::deallocate(reinterpret_cast<void*>(std::uintptr_t{1} << 30)),
               "llheap: pointer is no block: 0x40000000");
  EXPECT_DEATH(
      {
        void* const large = small_debugging::allocate(5 * mib);
        small_debugging::deallocate(large);
        small_debugging::deallocate(large);
      },
      "llheap: double free: 0x");
  char* const block = static_cast<char*>(small_debugging::allocate(1000));
  std::memset(block, 0, 1000);
  reinterpret_cast<std::uintptr_t*>(block)[6] = (std::uintptr_t{1} << 60) | fake;
  EXPECT_DEATH(small_debugging::deallocate(block + 64), "llheap: pointer is no block: 0x");
  std::memset(block, 0, 1000);
  EXPECT_DEATH(small_debugging::deallocate(block + 64), "llheap: pointer is no block: 0x");
  EXPECT_DEATH(small_debugging::reallocate(block + 64, 10), "llheap: pointer is no block: 0x");
  EXPECT_DEATH(small_debugging::deallocate(block + 1), "llheap: pointer is not aligned: 0x");
  EXPECT_DEATH((small_debugging::deallocate(block), small_debugging::reallocate(block, 10)),
               "llheap: double free: 0x");
}

}  // namespace
}  // namespace heaplab::llheap
