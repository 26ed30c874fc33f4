// The mechanisms of scalloc-hardened one by one. What they detect together: conformance/hardened_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "allocators/scalloc/arena/arena.h"
#include "allocators/scalloc/hardened/block_secrets.h"
#include "allocators/scalloc/hardened/quarantine.h"
#include "allocators/scalloc/policy/variants.h"
#include "concurrent/sync.h"
#include "scalloc/traits.h"

namespace heaplab::scalloc {
namespace {

constexpr config settings_tested = hardened();

// A process whose kernel gave it these bits.
struct keyed_platform : system_platform {
  static inline std::array<std::uint64_t, 2> key;
  static std::array<std::uint64_t, 2> random_key() { return key; }
  // Guards as before Linux 6.13.
  static inline bool is_old;
  static bool install_guard(void* address, std::size_t bytes) {
    return !is_old && os_pages::install_guard(address, bytes);
  }
  // Where the last reservation of addresses began.
  static inline char* reserved;
  static void* reserve_without_access(std::size_t bytes, std::size_t alignment) {
    void* const result = os_pages::reserve_without_access(bytes, alignment);
    reserved = static_cast<char*>(result);
    return result;
  }
};

using traits = test_traits<concurrent::std_sync, settings_tested, keyed_platform>;

struct counting_random {
  std::uint64_t next() { return state += 0x9e37'79b9'7f4a'7c15U; }
  std::uint64_t state = 1;
};

// Four blocks of 32 bytes in a span of 16 KiB.
class hardened_secrets_test : public testing::Test {
protected:
  static constexpr size_class kind{.block_bytes = 32, .blocks = 4};
  static constexpr std::size_t span_bytes = 16 * kib, block_bytes = 32;
  alignas(span_bytes) char span_[2 * span_bytes] = {};
  block_secrets secrets_;
  counting_random random_;
  void SetUp() override { secrets_.renew(kind, span_bytes, 1024, random_); }
  char* block(unsigned index) { return span_ + index * block_bytes; }
};

TEST_F(hardened_secrets_test, link_any_two_blocks_of_a_span_and_the_end) {
  for (unsigned from = 0; from < 4; ++from)
    for (unsigned to = 0; to < 4; ++to) {
      secrets_.link(block(from), block(to));
      EXPECT_EQ(secrets_.next_of(block(from)), block(to));
    }
  secrets_.link(block(1), nullptr);
  EXPECT_EQ(secrets_.next_of(block(1)), nullptr);
}

TEST_F(hardened_secrets_test, hide_the_address) {
  secrets_.link(block(0), block(1));
  std::uint64_t word;
  std::memcpy(&word, block(0), sizeof word);
  EXPECT_NE(word, reinterpret_cast<std::uintptr_t>(block(1)));
  // The same link in another tenure, and in another place.
  secrets_.renew(kind, span_bytes, 1024, random_);
  secrets_.link(block(0), block(1));
  EXPECT_NE(std::memcmp(&word, block(0), sizeof word), 0);
}

TEST_F(hardened_secrets_test, find_a_link_whose_first_bytes_were_overwritten) {
  for (unsigned bytes = 1; bytes <= sizeof(void*); ++bytes)
    for (const int value : {0x00, 0x41, 0xff}) {
      secrets_.link(block(0), block(1));
      const char before = *block(0);
      std::memset(block(0), value, bytes);
      if (bytes == 1 && *block(0) == before) continue;
      EXPECT_DEATH(secrets_.next_of(block(0)), "a freed block was written to: 0x") << bytes;
    }
}

TEST_F(hardened_secrets_test, find_a_link_that_leaves_the_span_or_its_blocks) {
  secrets_.link(block(0), span_ + span_bytes);
  EXPECT_DEATH(secrets_.next_of(block(0)), "a freed block was written to");
  secrets_.link(block(0), block(1) + 8);
  EXPECT_DEATH(secrets_.next_of(block(0)), "a freed block was written to");
}

TEST_F(hardened_secrets_test, a_link_of_another_block_is_none_of_the_list) {
  secrets_.link(block(0), block(1));
  std::memcpy(block(2), block(0), sizeof(void*));
  EXPECT_NE(secrets_.next_of(block(2)), block(1));
}

TEST_F(hardened_secrets_test, canaries_differ_from_block_to_block) {
  for (unsigned index = 0; index < 4; ++index) secrets_.write_canary(block(index));
  for (unsigned index = 0; index < 4; ++index) EXPECT_TRUE(secrets_.has_canary(block(index)));
  std::memcpy(block(1) + secrets_.usable_bytes(), block(0) + secrets_.usable_bytes(), sizeof(canary));
  EXPECT_FALSE(secrets_.has_canary(block(1)));
  for (unsigned byte = 0; byte < sizeof(canary); ++byte) {
    secrets_.write_canary(block(2));
    block(2)[secrets_.usable_bytes() + byte] ^= 1;
    EXPECT_FALSE(secrets_.has_canary(block(2))) << byte;
  }
}

TEST(hardened, live_map_knows_where_blocks_begin) {
  live_map<traits> map;
  EXPECT_FALSE(map.end(7));
  EXPECT_FALSE(map.end_own(7));
  EXPECT_TRUE(map.begin(7));
  EXPECT_FALSE(map.begin(7));
  EXPECT_TRUE(map.holds(7));
  EXPECT_FALSE(map.holds(6) || map.holds(8));
  EXPECT_TRUE(map.end(7));
  EXPECT_FALSE(map.end(7));
  EXPECT_TRUE(map.begin(7));
  EXPECT_TRUE(map.end_own(7));
  EXPECT_FALSE(map.holds(7));
}

TEST(hardened, shuffle_links_every_block_once_in_an_order_that_differs) {
  constexpr std::uint32_t count = 100;
  constexpr size_class kind{.block_bytes = 48, .blocks = count};
  alignas(16 * kib) static char span[16 * kib];
  block_secrets secrets;
  random_source<keyed_platform> random;
  secrets.renew(kind, sizeof span, 1024, random);
  std::vector<std::vector<std::ptrdiff_t>> orders;
  for (unsigned turn = 0; turn < 2; ++turn) {
    auto& order = orders.emplace_back();
    for (void* block = link_shuffled<count>(secrets, span, count, random); block != nullptr;
         block = secrets.next_of(block)) {
      order.push_back(static_cast<char*>(block) - span);
      ASSERT_LE(order.size(), count);
      EXPECT_TRUE(secrets.has_canary(block));
    }
  }
  EXPECT_NE(orders[0], orders[1]);
  std::ranges::sort(orders[0]);
  for (std::uint32_t index = 0; index < count; ++index)
    EXPECT_EQ(orders[0][index], std::ptrdiff_t{index} * kind.block_bytes);
}

TEST(hardened, shuffle_leads_every_block_to_every_place) {
  constexpr std::uint32_t count = 5, turns = 2000;
  constexpr size_class kind{.block_bytes = 16, .blocks = count};
  alignas(16 * kib) static char span[16 * kib];
  block_secrets secrets;
  random_source<keyed_platform> random;
  secrets.renew(kind, sizeof span, 1024, random);
  unsigned seen[count][count] = {};
  for (unsigned turn = 0; turn < turns; ++turn) {
    unsigned place = 0;
    for (void* block = link_shuffled<count>(secrets, span, count, random); block != nullptr;
         block = secrets.next_of(block))
      ++seen[place++][(static_cast<char*>(block) - span) / kind.block_bytes];
  }
  for (const auto& place : seen)
    for (const unsigned times : place) EXPECT_NEAR(times, turns / count, turns / count / 4);
}

TEST(hardened, random_source_differs_from_source_to_source_and_from_process_to_process) {
  keyed_platform::key = {1, 2};
  random_source<keyed_platform> sources[2];
  EXPECT_NE(sources[0].next(), sources[1].next());
  EXPECT_NE(sources[0].next(), sources[0].next());
  const std::uint64_t before = (sources[0] = {}).next();
  EXPECT_EQ((sources[0] = {}).next(), before);
  keyed_platform::key = {1, 3};
  EXPECT_NE((sources[0] = {}).next(), before);
}

TEST(hardened, quarantine_lets_blocks_out_in_their_order_after_as_many_more) {
  quarantine<4> tested;
  int blocks[22];
  std::vector<void*> out;
  for (unsigned index = 0; index < 22; ++index) {
    if (tested.add(&blocks[index])) tested.drain_older([&](void* block) { out.push_back(block); });
    EXPECT_EQ(out.size(), index < 7 ? 0 : (index - 3) / 4 * 4) << index;
  }
  tested.drain_all([&](void* block) { out.push_back(block); });
  for (unsigned index = 0; index < 16; ++index) EXPECT_EQ(out[index], &blocks[index]);
  EXPECT_EQ(std::set(out.begin() + 16, out.end()),
            (std::set<void*>{blocks + 16, blocks + 17, blocks + 18, blocks + 19, blocks + 20, blocks + 21}));
  tested.drain_all([](void*) { ADD_FAILURE() << "drained twice"; });
}

class hardened_guards : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    keyed_platform::is_old = GetParam();
    ASSERT_TRUE(tested_.open(gib, huge_page_policy::never));
  }
  void TearDown() override {
    tested_.close();
    keyed_platform::is_old = false;
  }
  arena<traits> tested_;
};
INSTANTIATE_TEST_SUITE_P(of_both_kinds, hardened_guards, testing::Bool());

void touch(char* address) {
  *static_cast<volatile char*>(address) = 1;
}

TEST_P(hardened_guards, stand_between_fine_spans) {
  constexpr std::uint32_t period = guarded_span_period;
  constexpr std::size_t bytes = settings_tested.fine_span_bytes;
  std::set<char*> carved;
  for (unsigned index = 0; index < 3 * period; ++index) carved.insert(tested_.carve(true, 0)->base);
  char* const first = *carved.begin() - bytes;
  for (std::uint32_t number = 0; number < 3 * period; ++number) {
    char* const base = first + number * bytes;
    const bool is_guard = number % period == 0;
    EXPECT_EQ(carved.contains(base), !is_guard) << number;
    if (is_guard) {
      EXPECT_DEATH(touch(base), "");
      EXPECT_DEATH(touch(base + bytes - 1), "");
    } else {
      std::memset(base, 1, bytes);
    }
  }
}

TEST_P(hardened_guards, stand_behind_the_blocks_of_coarse_spans) {
  for (unsigned index = 0; index < 3; ++index) {
    char* const base = tested_.carve(false, 0)->base;
    const std::size_t used = traits::classes::most_coarse_bytes();
    std::memset(base, 1, used);
    EXPECT_DEATH(touch(base + used), "");
  }
}

// Whatever its size: the record of a hardened span, unlike others, has no power of two of bytes.
TEST(hardened, arena_numbers_are_those_of_spans_of_both_zones) {
  for (const std::size_t mebibytes : {64U, 66U, 100U, 1024U}) {
    arena<traits> tested;
    ASSERT_TRUE(tested.open(mebibytes << 20, huge_page_policy::never));
    for (const bool fine : {true, false}) {
      auto& carved = *tested.carve(fine, 0);
      EXPECT_EQ(&tested.span_number(tested.number_of(carved)), &carved) << mebibytes;
      EXPECT_EQ(tested.find(carved.base), &carved) << mebibytes;
    }
    tested.close();
  }
}

TEST(hardened, arena_place_is_random_within_the_reservation) {
  std::set<std::size_t> places;
  for (std::uint64_t process = 0; process < 8; ++process) {
    keyed_platform::key = {process, process};
    arena<traits> tested;
    ASSERT_TRUE(tested.open(gib, huge_page_policy::never));
    // The first span lies behind the records of spans, whose size is the same in every arena.
    places.insert(static_cast<std::size_t>(tested.carve(true, 0)->base - keyed_platform::reserved));
    tested.close();
  }
  EXPECT_GT(places.size(), 4U);
  EXPECT_LT(*places.rbegin() - *places.begin(), settings_tested.arena_scatter_bytes + 1);
}

}  // namespace
}  // namespace heaplab::scalloc
