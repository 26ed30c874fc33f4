// Lines of JSON, built without the heap under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heaplab::probes {

// Objects and arrays nest in the order in which they are opened; commas are written where JSON needs them.
// The text lies in pages of its own and grows by remapping. Throws std::bad_alloc when the system has no more
// pages.
class json_line {
public:
  json_line();
  ~json_line();
  json_line(const json_line&) = delete;
  json_line& operator=(const json_line&) = delete;

  json_line& begin_object() { return open('{'); }
  json_line& end_object() { return put('}'); }
  json_line& begin_array() { return open('['); }
  json_line& end_array() { return put(']'); }

  json_line& key(std::string_view name);

  json_line& value(std::string_view text);
  json_line& value(const char* text) { return value(std::string_view(text)); }
  json_line& value(bool truth);
  json_line& value(std::uint64_t number);
  // Writes the shortest text that reads back as the same number, a whole number without a point. Infinities,
  // which JSON lacks, become null.
  json_line& value(double number);

  // Whatever is written next stands on a line of its own.
  json_line& end_line() { return put('\n'); }

  std::string_view text() const { return {buffer_, length_}; }

private:
  json_line& open(char bracket);
  json_line& put(char character);
  json_line& put(std::string_view text);
  json_line& put_escaped(char character);
  void separate();

  char* buffer_;
  std::size_t capacity_;
  std::size_t length_ = 0;
};

}  // namespace heaplab::probes
