#include "base/text_line.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace heaplab {
namespace {

// What `line` writes. A pipe holds more than the longest line.
std::string written_by(text_line& line) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  line.write_to(ends[1]);
  ::close(ends[1]);
  std::string result(2000, '\0');
  const ssize_t got = ::read(ends[0], result.data(), result.size());
  ::close(ends[0]);
  result.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return result;
}

TEST(text_line, joins_text_and_numbers) {
  text_line line;
  line.add("a ").add_decimal(0).add(" ").add_decimal(1207).add(" ").add_hex(0).add(" ").add_hex(0xBEEF);
  EXPECT_EQ(written_by(line), "a 0 1207 0x0 0xbeef\n");
}

TEST(text_line, writes_the_largest_numbers) {
  text_line line;
  line.add_decimal(UINT64_MAX).add(" ").add_hex(UINT64_MAX);
  EXPECT_EQ(written_by(line), "18446744073709551615 0xffffffffffffffff\n");
}

TEST(text_line, writes_an_address_as_a_number) {
  text_line line;
  line.add_address(reinterpret_cast<const void*>(0x1040));
  EXPECT_EQ(written_by(line), "0x1040\n");
}

TEST(text_line, begins_anew_after_it_was_written) {
  text_line line;
  line.add("first");
  EXPECT_EQ(written_by(line), "first\n");
  line.add("second");
  EXPECT_EQ(written_by(line), "second\n");
}

TEST(text_line, cuts_off_what_is_longer_than_511_characters) {
  text_line line;
  line.add(std::string(511, 'x').c_str()).add("y");
  EXPECT_EQ(written_by(line), std::string(511, 'x') + "\n");
}

TEST(text_line, gives_up_where_nothing_can_be_written) {
  text_line line;
  line.add("lost");
  line.write_to(-1);
  line.add("second");
  EXPECT_EQ(written_by(line), "second\n");
}

}  // namespace
}  // namespace heaplab
