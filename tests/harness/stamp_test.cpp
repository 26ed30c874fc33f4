// What stamps notice, on plain memory.
#include <gtest/gtest.h>

#include <array>

#include "workloads/harness/harness.h"

namespace heaplab::harness {
namespace {

TEST(stamp, notices_a_change_at_either_end_of_any_size) {
  for (std::size_t bytes = 1; bytes <= 40; ++bytes) {
    std::array<std::byte, 48> room{};
    const block whole{room.data(), bytes};
    write_stamp(whole, 7);
    EXPECT_TRUE(has_stamp(whole, 7)) << bytes;
    EXPECT_FALSE(has_stamp(whole, 8)) << bytes;
    EXPECT_EQ(room[bytes], std::byte{0}) << "written beyond " << bytes;
    for (const std::size_t at : {std::size_t{0}, bytes - 1}) {
      write_stamp(whole, 7);
      room[at] = std::byte{9};
      EXPECT_FALSE(has_stamp(whole, 7)) << bytes << " changed at " << at;
    }
  }
}

TEST(stamp, owes_the_alignment_of_the_largest_type_that_fits) {
  EXPECT_EQ(required_alignment(1), 1U);
  EXPECT_EQ(required_alignment(7), 4U);
  EXPECT_EQ(required_alignment(8), 8U);
  EXPECT_EQ(required_alignment(15), 8U);
  EXPECT_EQ(required_alignment(16), 16U);
  EXPECT_EQ(required_alignment(4097), 16U);
}

struct moving_heap {
  void* reallocate(void*, std::size_t) { return to; }
  void* to;
};

TEST(stamp, ends_the_program_where_a_block_is_broken) {
  alignas(16) std::array<std::byte, 64> room{};
  alignas(16) std::array<std::byte, 64> other{};
  EXPECT_EXIT(accept_block({room.data() + 8, 16}, 1), ::testing::ExitedWithCode(1),
              "of 16 bytes .* is not aligned");
  EXPECT_EXIT(expect_stamp({room.data(), 16}, 1), ::testing::ExitedWithCode(1),
              "does not hold what was written");
  write_stamp({room.data(), 32}, 1);
  moving_heap forgetful{other.data()};
  EXPECT_EXIT(reallocate_stamped(forgetful, {room.data(), 32}, 48, 1), ::testing::ExitedWithCode(1),
              "lost its contents");
  // A copy of the first half only.
  std::copy_n(room.begin(), 16, other.begin());
  EXPECT_EXIT(reallocate_stamped(forgetful, {room.data(), 32}, 48, 1), ::testing::ExitedWithCode(1),
              "lost its contents");
  std::copy_n(room.begin(), 32, other.begin());
  EXPECT_EQ(reallocate_stamped(forgetful, {room.data(), 32}, 48, 1).bytes, 48U);
}

TEST(stamp, size_mix_stays_within_its_bounds_and_reaches_them) {
  for (const size_mix mix : {size_mix{1, 1}, size_mix{16, 17}, size_mix{16, 1024}, size_mix{3, 100}}) {
    random_stream random(1);
    std::uint64_t least = mix.most;
    std::uint64_t most = mix.least;
    for (int i = 0; i < 100'000; ++i) {
      const std::uint64_t bytes = mix.logarithmic(random);
      least = std::min(least, bytes);
      most = std::max(most, bytes);
    }
    EXPECT_EQ(least, mix.least);
    EXPECT_EQ(most, mix.most);
  }
}

}  // namespace
}  // namespace heaplab::harness
