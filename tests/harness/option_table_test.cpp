#include "workloads/harness/option_table.h"

#include <gtest/gtest.h>

#include "workloads/harness/usage_error.h"

namespace heaplab::harness {
namespace {

enum class shape { list, tree };

std::string complaint(const option& entry, const std::string& text) {
  try {
    entry.read(text);
  } catch (const usage_error& error) {
    return error.what();
  }
  return "";
}

TEST(option_table, keeps_to_the_range_both_ends_included) {
  option_table table;
  std::uint64_t size = 64;
  table.size("size", size, {16, 8192}, "");
  const option& entry = table.options().front();
  EXPECT_EQ(complaint(entry, "16"), "");
  EXPECT_EQ(size, 16U);
  EXPECT_EQ(complaint(entry, "8KiB"), "");
  EXPECT_EQ(size, 8192U);
  EXPECT_EQ(complaint(entry, "15"), "15 is outside 16 to 8KiB");
  EXPECT_EQ(complaint(entry, "8193"), "8193 is outside 16 to 8KiB");
  EXPECT_EQ(complaint(entry, "many"), "'many' is not a size (64, 8KiB, 2GB); allowed is 16 to 8KiB");
  EXPECT_EQ(size, 8192U);
}

TEST(option_table, describes_itself) {
  option_table table;
  std::uint64_t count = 7;
  double ratio = 12.5, pause = 0.5;
  shape kind = shape::tree;
  table.count("count", count, {1, no_limit}, "");
  table.percent("ratio", ratio, "");
  table.duration("pause", pause, {0, 2}, "");
  table.choice("shape", kind, {{"list", shape::list}, {"tree", shape::tree}}, "");
  const auto& options = table.options();
  EXPECT_EQ(options[0].allowed, "1 or more");
  EXPECT_EQ(options[0].standard, "7");
  EXPECT_EQ(options[1].allowed, "0% to 100%");
  EXPECT_EQ(options[1].standard, "12.5%");
  EXPECT_EQ(options[2].allowed, "0s to 2s");
  EXPECT_EQ(options[3].allowed, "list or tree");
  EXPECT_EQ(options[3].standard, "tree");
}

TEST(option_table, reads_choices) {
  option_table table;
  shape kind = shape::tree;
  table.choice("shape", kind, {{"list", shape::list}, {"tree", shape::tree}}, "");
  EXPECT_EQ(complaint(table.options().front(), "list"), "");
  EXPECT_EQ(kind, shape::list);
  EXPECT_EQ(complaint(table.options().front(), "lis"), "'lis' is not list or tree");
}

TEST(option_table, reads_integers_with_a_sign) {
  option_table table;
  std::int64_t number = 3;
  table.integer("number", number, {-10, 10}, "");
  const option& entry = table.options().front();
  EXPECT_EQ(complaint(entry, "-5"), "");
  EXPECT_EQ(number, -5);
  EXPECT_EQ(complaint(entry, "-11"), "-11 is outside -10 to 10");
  EXPECT_EQ(complaint(entry, "5k"), "'5k' is not a whole number (5, -5); allowed is -10 to 10");
  probes::json_line json;
  entry.write(json);
  EXPECT_EQ(json.text(), "-5");
}

TEST(option_table, reads_places_among_words) {
  option_table table;
  std::size_t place = 1;
  table.choice("shape", place, {"list", "tree", "heap"}, "");
  const option& entry = table.options().front();
  EXPECT_EQ(entry.standard, "tree");
  EXPECT_EQ(complaint(entry, "heap"), "");
  EXPECT_EQ(place, 2U);
  EXPECT_EQ(complaint(entry, "pool"), "'pool' is not list, tree or heap");
}

TEST(option_table, writes_what_was_resolved) {
  option_table table;
  std::uint64_t size = 0;
  bool flag = false;
  std::string text = "a";
  table.size("size", size, {0, no_limit}, "");
  table.flag("flag", flag, "");
  table.text("text", text, "");
  table.options()[0].read("2KiB");
  flag = true;
  table.options()[2].read("b");
  probes::json_line json;
  json.begin_array();
  for (const option& entry : table.options()) entry.write(json);
  EXPECT_EQ(json.end_array().text(), R"([2048,true,"b"])");
}

}  // namespace
}  // namespace heaplab::harness
