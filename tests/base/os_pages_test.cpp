#include "base/os_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

namespace heaplab::os_pages {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
// No address space is as large.
constexpr std::size_t too_much = std::size_t{1} << 60;

bool is_all(const void* place, std::size_t bytes, unsigned char value) {
  const auto* const begin = static_cast<const unsigned char*>(place);
  return std::all_of(begin, begin + bytes, [value](unsigned char byte) { return byte == value; });
}

bool is_resident(void* place) {
  unsigned char state = 0;
  return ::mincore(place, page_bytes(), &state) == 0 && (state & 1U) != 0;
}

TEST(os_pages, knows_the_page_size) {
  EXPECT_EQ(::sysconf(_SC_PAGESIZE), static_cast<long>(page_bytes()));
}

TEST(os_pages, allocates_zeros_at_the_alignment_asked_for) {
  for (const std::size_t alignment : {page_bytes(), 16 * page_bytes(), huge_page_bytes}) {
    void* const place = allocate(3 * page_bytes(), alignment);
    ASSERT_NE(place, nullptr);
    EXPECT_TRUE(is_aligned(place, alignment));
    EXPECT_TRUE(is_all(place, 3 * page_bytes(), 0));
    std::memset(place, 1, 3 * page_bytes());
    unmap(place, 3 * page_bytes());
  }
}

// Pages of address space that the process holds; read without allocating any.
unsigned long held_pages() {
  char text[64] = {};
  const int file = ::open("/proc/self/statm", O_RDONLY);
  EXPECT_GT(::read(file, text, sizeof text - 1), 0);
  ::close(file);
  return std::strtoul(text, nullptr, 10);
}

TEST(os_pages, holds_no_more_addresses_than_asked_for) {
  const unsigned long before = held_pages();
  void* const place = allocate(page_bytes(), 32 * huge_page_bytes);
  EXPECT_EQ(held_pages(), before + 1);
  unmap(place, page_bytes());
  EXPECT_EQ(held_pages(), before);
}

TEST(os_pages, refuses_what_cannot_be_had_and_keeps_errno) {
  errno = EDOM;
  EXPECT_EQ(allocate(too_much), nullptr);
  EXPECT_EQ(allocate(SIZE_MAX - page_bytes() + 1, huge_page_bytes), nullptr);
  EXPECT_EQ(reserve(too_much, page_bytes()), nullptr);
  EXPECT_EQ(reserve_without_access(too_much, page_bytes()), nullptr);
  void* const gone = allocate(page_bytes());
  unmap(gone, page_bytes());
  EXPECT_FALSE(purge(gone, page_bytes()));
  EXPECT_FALSE(make_accessible(gone, page_bytes()));
  EXPECT_EQ(errno, EDOM);
}

TEST(os_pages, reserves_addresses_that_become_memory_when_made_accessible) {
  void* const place = reserve_without_access(mib, huge_page_bytes);
  ASSERT_NE(place, nullptr);
  EXPECT_TRUE(is_aligned(place, huge_page_bytes));
  ASSERT_TRUE(make_accessible(place, page_bytes()));
  std::memset(place, 1, page_bytes());
  EXPECT_DEATH(std::memset(static_cast<char*>(place) + page_bytes(), 1, 1), "");
  unmap(place, mib);
}

TEST(os_pages, purges_the_memory_and_keeps_the_addresses) {
  void* const place = allocate(4 * page_bytes());
  std::memset(place, 1, 4 * page_bytes());
  ASSERT_TRUE(purge(place, 2 * page_bytes()));
  EXPECT_FALSE(is_resident(place));
  EXPECT_TRUE(is_all(place, 2 * page_bytes(), 0));
  EXPECT_TRUE(is_all(static_cast<char*>(place) + 2 * page_bytes(), 2 * page_bytes(), 1));
  unmap(place, 4 * page_bytes());
}

class os_pages_purging : public testing::TestWithParam<bool (*)(std::span<const iovec>)> {};
INSTANTIATE_TEST_SUITE_P(os_pages, os_pages_purging, testing::Values(purge_each, purge_at_once));

TEST_P(os_pages_purging, purges_every_range_of_many) {
  auto* const place = static_cast<char*>(allocate(6 * page_bytes()));
  std::memset(place, 1, 6 * page_bytes());
  const iovec ranges[] = {{place, page_bytes()}, {place + 2 * page_bytes(), 2 * page_bytes()}};
  EXPECT_TRUE(GetParam()(std::span(ranges)));
  for (const unsigned page : {0U, 2U, 3U}) EXPECT_TRUE(is_all(place + page * page_bytes(), page_bytes(), 0));
  for (const unsigned page : {1U, 4U, 5U}) EXPECT_TRUE(is_all(place + page * page_bytes(), page_bytes(), 1));
  unmap(place, 6 * page_bytes());
}

TEST(os_pages, keeps_the_contents_of_what_it_resizes) {
  void* const small = allocate(page_bytes());
  std::memset(small, 1, page_bytes());
  void* const large = remap(small, page_bytes(), 64 * page_bytes());
  ASSERT_NE(large, nullptr);
  EXPECT_TRUE(is_all(large, page_bytes(), 1));
  EXPECT_TRUE(is_all(static_cast<char*>(large) + page_bytes(), 63 * page_bytes(), 0));
  errno = EDOM;
  EXPECT_EQ(remap(large, 64 * page_bytes(), too_much), nullptr);
  EXPECT_EQ(errno, EDOM);
  EXPECT_TRUE(is_all(large, page_bytes(), 1));
  unmap(large, 64 * page_bytes());
}

// More ranges than the kernel takes in one call.
TEST_P(os_pages_purging, purges_a_thousand_ranges_and_more) {
  constexpr std::size_t count = 1100;
  auto* const place = static_cast<char*>(allocate(2 * count * page_bytes()));
  std::memset(place, 1, 2 * count * page_bytes());
  std::vector<iovec> ranges;
  for (std::size_t i = 0; i < count; ++i) ranges.push_back({place + 2 * i * page_bytes(), page_bytes()});
  GetParam()(ranges);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(place[2 * i * page_bytes()], 0) << i;
    EXPECT_EQ(place[(2 * i + 1) * page_bytes()], 1) << i;
  }
  unmap(place, 2 * count * page_bytes());
}

TEST(os_pages, leaves_where_it_is_what_can_grow_there) {
  auto* const place = static_cast<char*>(allocate(4 * page_bytes(), huge_page_bytes));
  unmap(place + page_bytes(), 3 * page_bytes());
  EXPECT_EQ(remap_aligned(place, page_bytes(), 4 * page_bytes(), huge_page_bytes), place);
  unmap(place, 4 * page_bytes());
}

// A mapping behind it keeps it from growing where it is.
TEST(os_pages, moves_what_cannot_grow_to_an_aligned_address) {
  auto* const place = static_cast<char*>(allocate(2 * page_bytes(), huge_page_bytes)) + page_bytes();
  auto* const block = place - page_bytes();
  ASSERT_TRUE(make_accessible(place, page_bytes()));
  std::memset(block, 1, page_bytes());
  void* const moved = remap_aligned(block, page_bytes(), 5 * page_bytes(), huge_page_bytes);
  ASSERT_NE(moved, nullptr);
  EXPECT_NE(moved, static_cast<void*>(block));
  EXPECT_TRUE(is_aligned(moved, huge_page_bytes));
  EXPECT_TRUE(is_all(moved, page_bytes(), 1));
  unmap(moved, 5 * page_bytes());
  unmap(place, page_bytes());
}

// Where the limit leaves no room for both places at once, it moves to where the kernel will.
TEST(os_pages, moves_what_cannot_grow_within_a_limit) {
  constexpr std::size_t before = 64 * mib, after = 96 * mib;
  const auto limited = [] {
    auto* const block = static_cast<char*>(allocate(before + page_bytes(), huge_page_bytes));
    std::memset(block, 1, page_bytes());
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit limit{.rlim_cur = pages * page_bytes() + 40 * mib, .rlim_max = RLIM_INFINITY};
    ::setrlimit(RLIMIT_AS, &limit);
    const auto* const moved = static_cast<char*>(remap_aligned(block, before, after, huge_page_bytes));
    std::_Exit(moved != nullptr && moved != block && is_all(moved, page_bytes(), 1) ? 0 : 1);
  };
  EXPECT_EXIT(limited(), testing::ExitedWithCode(0), "");
}

TEST(os_pages, touches_pages_ahead_where_the_kernel_can) {
  auto* const place = static_cast<char*>(allocate(2 * page_bytes()));
  advise_huge(place, 2 * page_bytes(), false);
  EXPECT_FALSE(is_resident(place + page_bytes()));
  if (populate(place, 2 * page_bytes())) {
    EXPECT_TRUE(is_resident(place + page_bytes()));
  }
  unmap(place, 2 * page_bytes());
}

TEST(os_pages, tells_what_can_be_read_and_what_holds_something) {
  auto* const place = static_cast<char*>(allocate(3 * page_bytes()));
  place[page_bytes() - 1] = 1;
  EXPECT_TRUE(is_readable(place + 2 * page_bytes() - 8));
  EXPECT_TRUE(holds_data(place));
  EXPECT_FALSE(holds_data(place + page_bytes()));
  EXPECT_TRUE(holds_word(place + page_bytes() - 4));
  EXPECT_TRUE(holds_word(place + page_bytes() - 8));
  EXPECT_FALSE(holds_word(place + page_bytes() - 12));
  EXPECT_FALSE(holds_word(place + page_bytes()));
  place[2 * page_bytes()] = 1;
  ASSERT_EQ(::mprotect(place + 2 * page_bytes(), page_bytes(), PROT_NONE), 0);
  errno = 4711;
  EXPECT_FALSE(is_readable(place + 2 * page_bytes()));
  EXPECT_FALSE(holds_data(place + 2 * page_bytes()));
  EXPECT_FALSE(holds_word(place + 2 * page_bytes()));
  EXPECT_EQ(errno, 4711);
  unmap(place, 3 * page_bytes());
  EXPECT_FALSE(is_readable(place));
  EXPECT_FALSE(holds_word(place));
}

TEST(os_pages, knows_the_limit_of_address_space) {
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(address_space_limit(), before.rlim_cur == RLIM_INFINITY ? SIZE_MAX : before.rlim_cur);
  // In a process of its own: the limit could not be raised again.
  const rlimit lower{.rlim_cur = std::size_t{1} << 46, .rlim_max = before.rlim_max};
  const auto limited = [&] {
    ::setrlimit(RLIMIT_AS, &lower);
    std::_Exit(address_space_limit() == lower.rlim_cur ? 0 : 1);
  };
  EXPECT_EXIT(limited(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace heaplab::os_pages
