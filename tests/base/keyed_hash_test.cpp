#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace heaplab {
namespace {

constexpr std::array<std::uint64_t, 2> key = {0x0706'0504'0302'0100U, 0x0f0e'0d0c'0b0a'0908U};

TEST(keyed_hash, depends_on_every_bit_of_number_and_key) {
  const std::uint64_t plain = keyed_hash(key, 42);
  unsigned changed = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t flipped = std::uint64_t{1} << bit;
    for (const std::uint64_t other :
         {keyed_hash(key, 42 ^ flipped), keyed_hash({key[0] ^ flipped, key[1]}, 42),
          keyed_hash({key[0], key[1] ^ flipped}, 42)}) {
      EXPECT_NE(other, plain) << bit;
      changed += static_cast<unsigned>(std::popcount(other ^ plain));
    }
  }
  // Half of the 64 bits on average.
  EXPECT_NEAR(changed / (3 * 64.0), 32, 1);
}

TEST(keyed_hash, gives_no_number_twice) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t number = 0; number < 10'000; ++number) seen.insert(keyed_hash(key, number));
  EXPECT_EQ(seen.size(), 10'000U);
}

}  // namespace
}  // namespace heaplab
