// Upstream fails at the n-th allocation, for every n: nothing leaks and the source works on.
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "heaplab/local/local.h"

namespace heaplab::local {
namespace {

using failing = limiting<counting<>>;

template <class Source>
class failure : public testing::Test {};

using kinds = testing::Types<monotonic<failing>, multipool<failing>, multipool<failing, std::mutex>,
                             multipool_over_monotonic<failing>>;
TYPED_TEST_SUITE(failure, kinds);

// Allocates until upstream fails at its allocation number `most` + 1.
template <class Source>
std::vector<unsigned char*> allocate_until_failure(Source& source, std::size_t bytes) {
  std::vector<unsigned char*> blocks;
  try {
    for (;;) {
      blocks.push_back(static_cast<unsigned char*>(source.allocate(bytes, 8)));
      std::memset(blocks.back(), static_cast<int>(blocks.size()), bytes);
    }
  } catch (const std::bad_alloc&) {
  }
  return blocks;
}

TYPED_TEST(failure, the_call_that_fails_changes_nothing) {
  for (std::size_t most = 0; most < 8; ++most) {
    counting<> memory;
    failing upstream({.allocations = most}, memory);
    TypeParam source({}, upstream);
    for (const std::size_t bytes : {64, 5000}) {
      const auto blocks = allocate_until_failure(source, bytes);
      const std::size_t live = memory.counts().live_bytes;
      EXPECT_THROW((void)source.allocate(bytes, 8), std::bad_alloc);
      EXPECT_EQ(memory.counts().live_bytes, live);
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        ASSERT_EQ(blocks[i][bytes - 1], static_cast<unsigned char>(i + 1));
        source.deallocate(blocks[i], bytes, 8);
      }
    }
  }
}

TYPED_TEST(failure, blocks_of_a_pool_are_still_reused_afterwards) {
  counting<> memory;
  failing upstream({.allocations = 3}, memory);
  TypeParam source({}, upstream);
  const auto blocks = allocate_until_failure(source, 64);
  source.deallocate(blocks.front(), 64, 8);
  if constexpr (one_way_source<TypeParam>) {
    EXPECT_THROW((void)source.allocate(64, 8), std::bad_alloc);
  } else {
    EXPECT_EQ(source.allocate(64, 8), blocks.front());
  }
}

TYPED_TEST(failure, containers_keep_the_strong_guarantee) {
  for (std::size_t most = 0; most < 12; ++most) {
    counting<> memory;
    {
      failing upstream({.allocations = most}, memory);
      TypeParam source({}, upstream);
      using string = std::basic_string<char, std::char_traits<char>, allocator<char, TypeParam>>;
      std::vector<string, allocator<string, TypeParam>> strings(source);
      std::size_t done = 0;
      try {
        for (; done < 1000; ++done) strings.emplace_back(100, 'x', source);
      } catch (const std::bad_alloc&) {
      }
      ASSERT_EQ(strings.size(), done);
      for (const string& each : strings) ASSERT_EQ(std::string_view(each), std::string(100, 'x'));
    }
    EXPECT_EQ(memory.counts().live_bytes, 0);
  }
}

}  // namespace
}  // namespace heaplab::local
