#include "trace/file/properties.h"

#include <gtest/gtest.h>

namespace heaplab::trace {
namespace {

TEST(properties, any_text_survives) {
  std::string every;
  for (int code = 0; code < 256; ++code) every += static_cast<char>(code);
  properties written;
  written.set("arguments", every);
  written.set("pid", 4711);
  written.set("empty", "");
  const properties read = properties::decode(written.encode());
  EXPECT_EQ(read.text("arguments"), every);
  EXPECT_EQ(read.number("pid"), 4711U);
  EXPECT_TRUE(read.has("empty"));
  EXPECT_EQ(read.all().size(), 3U);
}

TEST(properties, what_is_not_there_is_empty_or_zero) {
  const properties none = properties::decode("no sign of equality\n\n");
  EXPECT_EQ(none.text("pid"), "");
  EXPECT_EQ(none.number("pid"), 0U);
  EXPECT_FALSE(none.has("pid"));
}

TEST(properties, a_percent_sign_without_digits_stands_for_itself) {
  EXPECT_EQ(properties::decode("a=100%\nb=%4\nc=%zz").text("a"), "100%");
  EXPECT_EQ(properties::decode("b=%4").text("b"), "%4");
  EXPECT_EQ(properties::decode("c=%zz").text("c"), "%zz");
}

}  // namespace
}  // namespace heaplab::trace
