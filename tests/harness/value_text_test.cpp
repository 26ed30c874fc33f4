#include "workloads/harness/value_text.h"

#include <gtest/gtest.h>

namespace heaplab::harness {
namespace {

TEST(value_text, reads_sizes) {
  EXPECT_EQ(read_size("64"), 64U);
  EXPECT_EQ(read_size("64B"), 64U);
  EXPECT_EQ(read_size("8KiB"), 8192U);
  EXPECT_EQ(read_size("1MiB"), 1048576U);
  EXPECT_EQ(read_size("3GiB"), 3221225472U);
  EXPECT_EQ(read_size("1kB"), 1000U);
  EXPECT_EQ(read_size("18446744073709551615"), 18446744073709551615U);
}

TEST(value_text, refuses_what_is_no_size) {
  for (const char* text : {"", "KiB", "-1", "+1", " 1", "1 KiB", "1KB", "1kib", "1.5KiB", "0x10",
                           "18446744073709551616", "99999999TiB", "1KiBx"})
    EXPECT_EQ(read_size(text), std::nullopt) << text;
}

TEST(value_text, reads_counts) {
  EXPECT_EQ(read_count("10k"), 10'000U);
  EXPECT_EQ(read_count("2M"), 2'000'000U);
  EXPECT_EQ(read_count("10KiB"), std::nullopt);
  EXPECT_EQ(read_count("1e3"), std::nullopt);
}

TEST(value_text, reads_real_numbers) {
  EXPECT_EQ(read_percent("12.5%"), 12.5);
  EXPECT_EQ(read_percent("nan"), std::nullopt);
  EXPECT_EQ(read_percent("inf"), std::nullopt);
  EXPECT_EQ(read_duration("100ms"), 0.1);
  EXPECT_EQ(read_duration("2min"), 120);
  EXPECT_EQ(read_duration("3"), 3);
  EXPECT_EQ(read_duration("3 s"), std::nullopt);
}

TEST(value_text, knows_utf8) {
  for (const char* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text : {"a\xff", "\xc3", "\xc3(", "\x80", "\xc1\x81", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"})
    EXPECT_FALSE(is_utf8(text)) << text;
}

TEST(value_text, shows_sizes_exactly) {
  EXPECT_EQ(show_size(0), "0");
  EXPECT_EQ(show_size(1000), "1000");
  EXPECT_EQ(show_size(8192), "8KiB");
  EXPECT_EQ(show_size(8193), "8193");
  EXPECT_EQ(show_size(std::uint64_t{3} << 30), "3GiB");
}

TEST(value_text, rounds_for_people) {
  EXPECT_EQ(show_rounded(0.01234567, "s"), "12.35 ms");
  EXPECT_EQ(show_rounded(2e-9, "s"), "2 ns");
  EXPECT_EQ(show_rounded(0, "s"), "0 ns");
  EXPECT_EQ(show_rounded(1536, "B"), "1.5 KiB");
  EXPECT_EQ(show_rounded(-2048, "B"), "-2 KiB");
  EXPECT_EQ(show_rounded(2.5e6, "1/s"), "2.5 M/s");
  EXPECT_EQ(show_rounded(123456789, "1"), "123456789");
}

}  // namespace
}  // namespace heaplab::harness
