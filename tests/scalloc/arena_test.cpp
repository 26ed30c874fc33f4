#include "allocators/scalloc/arena/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <vector>

#include "allocators/scalloc/policy/variants.h"
#include "check/children.h"
#include "concurrent/sync.h"
#include "scalloc/traits.h"

namespace heaplab::scalloc {
namespace {

constexpr config two_zones = standard();
constexpr config one_zone = paper();

template <const config& Config>
using traits = test_traits<concurrent::std_sync, Config>;

template <class Arena>
class arena_test : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(tested_.open(std::size_t{1} << 40, huge_page_policy::never)); }
  void TearDown() override { tested_.close(); }
  Arena tested_;
};
using arenas = testing::Types<arena<traits<two_zones>>, arena<traits<one_zone>>>;
TYPED_TEST_SUITE(arena_test, arenas);

TYPED_TEST(arena_test, finds_the_span_of_every_address_in_it) {
  for (const bool wish : {true, false, true, false}) {
    const bool fine = wish || !TypeParam::has_coarse_zone;
    auto* const span = this->tested_.carve(fine, 0);
    ASSERT_NE(span, nullptr);
    const config& knobs = TypeParam::has_coarse_zone ? two_zones : one_zone;
    const std::size_t bytes = fine ? knobs.fine_span_bytes : knobs.coarse_span_bytes;
    EXPECT_TRUE(is_aligned(span->base, bytes));
    std::memset(span->base, 1, bytes);
    EXPECT_EQ(this->tested_.find(span->base), span);
    EXPECT_EQ(this->tested_.find(span->base + 17), span);
    EXPECT_EQ(this->tested_.find(span->base + bytes - 1), span);
    EXPECT_NE(this->tested_.find(span->base + bytes), span);
    EXPECT_EQ(&this->tested_.span_number(this->tested_.number_of(*span)), span);
  }
}

TYPED_TEST(arena_test, finds_nothing_elsewhere) {
  const int local = 0;
  EXPECT_EQ(this->tested_.find(&local), nullptr);
  EXPECT_EQ(this->tested_.find(nullptr), nullptr);
  char* const first = this->tested_.carve(true, 0)->base;
  EXPECT_EQ(this->tested_.find(first - 1), nullptr);
  EXPECT_FALSE(this->tested_.in_fine_zone(this->tested_.step_of(nullptr)));
  EXPECT_FALSE(this->tested_.in_fine_zone(this->tested_.step_of(first - 16)));
  EXPECT_TRUE(this->tested_.in_fine_zone(this->tested_.step_of(first + 16)));
  EXPECT_FALSE(this->tested_.in_fine_zone(this->tested_.step_of(first + 8))) << "no multiple of 16";
}

// And the rest of the runs that were begun, each of a line of the page map: one for each column, of two.
TYPED_TEST(arena_test, visits_every_span_once) {
  std::set<void*> carved, visited;
  for (int step = 0; step < 100; ++step)
    carved.insert(this->tested_.carve(step % 3 != 0 || !TypeParam::has_coarse_zone, step % 2));
  EXPECT_EQ(carved.size(), 100U);
  this->tested_.for_each_span([&](auto& span) { EXPECT_TRUE(visited.insert(&span).second); });
  EXPECT_TRUE(std::ranges::includes(visited, carved));
  EXPECT_LE(visited.size(), 100U + 2 * (cache_line_bytes - 1));
}

// Fault 2.11-7 of the original: an exclusive-or told addresses inside from those outside, which is right for
// arenas of a power of two alone.
TEST(arena, knows_its_own_addresses_whatever_its_size) {
  for (const std::size_t bytes : {12 * mib, 20 * mib, 44 * mib, 3 * 64 * mib, 35 * std::size_t{1024} * mib}) {
    arena<traits<one_zone>> tested;
    ASSERT_TRUE(tested.open(bytes, huge_page_policy::never));
    ASSERT_EQ(tested.bytes(), bytes);
    char* const base = tested.carve(true, 0)->base;
    // By every bit and every sum of two bits an exclusive-or could be misled by.
    for (unsigned high = 4; high < 47; ++high)
      for (unsigned low = 3; low < high; ++low) {
        const std::size_t offset = (std::size_t{1} << high) + (low > 3 ? std::size_t{1} << low : 0);
        EXPECT_EQ(tested.in_fine_zone(tested.step_of(base + offset)), offset < bytes)
            << bytes << ' ' << offset;
        EXPECT_FALSE(tested.in_fine_zone(tested.step_of(base - offset))) << bytes << ' ' << offset;
        EXPECT_EQ(tested.find(base + offset) != nullptr, offset < one_zone.fine_span_bytes);
        EXPECT_EQ(tested.find(base - offset), nullptr);
      }
    EXPECT_TRUE(tested.in_fine_zone(tested.step_of(base + bytes - 16)));
    EXPECT_FALSE(tested.in_fine_zone(tested.step_of(base + bytes)));
    tested.close();
  }
}

// The spans of the two zones that fill 64 MiB, one fine span and then `coarse` coarse ones by turns.
void fill_two_zones(std::size_t coarse) {
  arena<traits<two_zones>> tested;
  ASSERT_TRUE(tested.open(64 * mib, huge_page_policy::never));
  std::vector<span<traits<two_zones>>*> spans[2];
  const auto carve = [&](bool fine) {
    auto* const carved = tested.carve(fine, 0);
    if (carved != nullptr) spans[fine].push_back(carved);
    return carved != nullptr;
  };
  while (carve(true))
    for (std::size_t count = 0; count < coarse; ++count) carve(false);
  while (carve(false));
  std::set<char*> bases;
  for (const bool fine : {false, true})
    for (auto* const carved : spans[fine]) {
      const std::size_t bytes = fine ? two_zones.fine_span_bytes : two_zones.coarse_span_bytes;
      for (std::size_t offset = 0; offset < bytes; offset += two_zones.fine_span_bytes)
        EXPECT_TRUE(bases.insert(carved->base + offset).second) << "two spans overlap";
      for (char* const address : {carved->base, carved->base + bytes - 16}) {
        EXPECT_EQ(tested.find(address), carved);
        EXPECT_EQ(tested.in_fine_zone(tested.step_of(address)), fine);
      }
      carved->base[0] = carved->base[bytes - 1] = 1;
      EXPECT_EQ(&tested.span_number(tested.number_of(*carved)), carved);
    }
  EXPECT_EQ(bases.size(), 64 * mib / two_zones.fine_span_bytes) << "address space is left over";
  tested.close();
}

TEST(arena, ends_where_its_zones_meet) {
  fill_two_zones(0);
  fill_two_zones(1);
  fill_two_zones(10);
  fill_two_zones(100);
}

std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * os_pages::page_bytes();
}

// Spans of either zone before and after, and none where somebody else maps in between.
TYPED_TEST(arena_test, gives_back_what_lies_between_the_zones) {
  std::set<char*> bases;
  const auto carve = [&](bool wish) {
    const bool fine = wish || !TypeParam::has_coarse_zone;
    auto* const span = this->tested_.carve(fine, 0);
    if (span == nullptr) return false;
    EXPECT_TRUE(bases.insert(span->base).second);
    span->base[0] = 1;
    EXPECT_EQ(this->tested_.find(span->base), span);
    EXPECT_EQ(this->tested_.in_fine_zone(this->tested_.step_of(span->base)), fine);
    return true;
  };
  for (int step = 0; step < 10; ++step) ASSERT_TRUE(carve(step % 3 != 0));
  const std::size_t reserved = this->tested_.bytes(), mapped = mapped_bytes();
  for (const std::size_t wanted : {256 * mib, 64 * mib}) {
    ASSERT_TRUE(this->tested_.shrink(wanted));
    EXPECT_FALSE(this->tested_.shrink(wanted)) << "there is no more to give";
    EXPECT_EQ(this->tested_.bytes(), wanted);
    EXPECT_LE(mapped_bytes(), mapped - reserved + wanted);
  }
  char* const base = this->tested_.find(*bases.begin())->base;
  void* const other = mmap(base + 40 * mib, mib, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (TypeParam::has_coarse_zone) {
    ASSERT_EQ(other, base + 40 * mib) << "the gap is not free";
    EXPECT_FALSE(this->tested_.in_fine_zone(this->tested_.step_of(other)));
    EXPECT_EQ(this->tested_.find(other), nullptr);
  }
  std::size_t more = 0;
  for (const bool fine : {true, false})
    while (carve(fine)) ++more;
  EXPECT_GT(more, 20U);
  std::size_t visited = 0;
  this->tested_.for_each_span([&](auto&) { ++visited; });
  EXPECT_EQ(visited, bases.size());
  if (TypeParam::has_coarse_zone) {
    EXPECT_EQ(*static_cast<char*>(other), 0) << "a span was carved from the gap";
    munmap(other, mib);
  }
}

// In a child with little address space: the exit status says how it went.
int open_under_limit(std::size_t limit) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit bytes{limit, limit};
    setrlimit(RLIMIT_AS, &bytes);
    arena<traits<two_zones>> tested;
    if (!tested.open(two_zones.arena_bytes, huge_page_policy::never)) _exit(2);
    if (tested.bytes() > limit / 2) _exit(4);
    auto* const span = tested.carve(true, 0);
    if (span == nullptr) _exit(3);
    std::memset(span->base, 1, two_zones.fine_span_bytes);
    _exit(0);
  }
  const int status = check::status_of(child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(arena, is_smaller_where_the_system_refuses) {
  EXPECT_EQ(open_under_limit(std::size_t{1} << 30), 0);
  EXPECT_EQ(open_under_limit(std::size_t{1100} << 20), 0);
  EXPECT_EQ(open_under_limit(std::size_t{100} << 20), 0);
}

TEST(arena, fails_where_nothing_is_to_be_had) {
  EXPECT_EQ(open_under_limit(1 << 20), 2);
}

}  // namespace
}  // namespace heaplab::scalloc
