#include "probes/json_line.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <limits>
#include <string>

namespace heaplab::probes {
namespace {

TEST(json_line, puts_commas_between_values_only) {
  json_line json;
  json.begin_object().key("a").value(true).key("b").begin_array();
  json.value(std::uint64_t{1}).begin_array().end_array().begin_object().end_object().value("x").end_array();
  json.key("c").value(false).end_object();
  EXPECT_EQ(json.text(), R"({"a":true,"b":[1,[],{},"x"],"c":false})");
}

TEST(json_line, escapes_what_json_forbids) {
  json_line json;
  json.value("a\"b\\c\n\x01,é");
  EXPECT_EQ(json.text(), "\"a\\\"b\\\\c\\u000a\\u0001,é\"");
}

// A text that ends in a bracket or colon must not swallow the comma after it.
TEST(json_line, puts_a_comma_after_text_that_ends_like_structure) {
  json_line json;
  json.begin_array().value("[").value(":").value("{").end_array();
  EXPECT_EQ(json.text(), R"(["[",":","{"])");
}

TEST(json_line, writes_numbers_that_read_back_the_same) {
  json_line json;
  json.begin_array().value(0.1).value(3.0).value(1e300).value(-2.5).value(-7.0);
  json.value(std::numeric_limits<double>::infinity())
      .value(std::numeric_limits<std::uint64_t>::max())
      .end_array();
  EXPECT_EQ(json.text(), "[0.1,3,1e+300,-2.5,-7,null,18446744073709551615]");
}

TEST(json_line, grows_beyond_its_first_pages) {
  json_line json;
  std::string expected = "[";
  json.begin_array();
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    json.value(i);
    expected += (i == 0 ? "" : ",") + std::to_string(i);
  }
  json.end_array();
  EXPECT_EQ(json.text(), expected + "]");
}

TEST(json_line, puts_lines_one_after_the_other) {
  json_line json;
  json.value("one").end_line().begin_object().key("two").value(true).end_object().end_line();
  EXPECT_EQ(json.text(), "\"one\"\n{\"two\":true}\n");
}

}  // namespace
}  // namespace heaplab::probes
