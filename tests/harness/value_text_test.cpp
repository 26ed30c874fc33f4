#include "workloads/harness/value_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace heaplab::harness {
namespace {

// The table that heaplab's command line is tested against as well, by
// tests/python/options/test_quantities.py.
TEST(value_text, reads_and_refuses_what_the_shared_table_says) {
  std::ifstream table(UNITS_TABLE);
  std::size_t cases = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string kind, text, value;
    ASSERT_TRUE(words >> kind >> text >> value) << line;
    std::string found = "-";
    if (kind == "size" && read_size(text)) found = std::to_string(*read_size(text));
    if (kind == "duration") {
      EXPECT_EQ(read_duration(text), value == "-" ? std::nullopt : std::optional(std::stod(value))) << line;
    } else {
      EXPECT_EQ(found, value) << line;
    }
    ++cases;
  }
  EXPECT_GT(cases, 60U);
}

TEST(value_text, refuses_text_that_is_empty_or_holds_a_space) {
  for (const char* text : {"", " 1", "1 ", "1 KiB", "1 s"}) {
    EXPECT_EQ(read_size(text), std::nullopt) << text;
    EXPECT_EQ(read_duration(text), std::nullopt) << text;
  }
}

TEST(value_text, reads_counts) {
  EXPECT_EQ(read_count("10k"), 10'000U);
  EXPECT_EQ(read_count("2M"), 2'000'000U);
  EXPECT_EQ(read_count("10KiB"), std::nullopt);
  EXPECT_EQ(read_count("1e3"), std::nullopt);
}

TEST(value_text, reads_percentages) {
  EXPECT_EQ(read_percent("12.5%"), 12.5);
  EXPECT_EQ(read_percent("nan"), std::nullopt);
  EXPECT_EQ(read_percent("inf"), std::nullopt);
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
