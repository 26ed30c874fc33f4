// One line of JSON, built in pages of our own and written in one piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heaplab::probes {

// Objects and arrays nest as they are opened; commas come by themselves. The heap is never used: the text
// grows by remapping. Throws std::bad_alloc when the system has no more pages.
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
  // The shortest text that reads back as the same number; a whole number without a point. JSON has no
  // infinities: these become null.
  json_line& value(double number);

  std::string_view text() const { return {buffer_, length_}; }

  // Ends the line and writes it. Signals wait meanwhile, so that an interrupted program leaves a whole line
  // or none. Returns 0, or the errno of the failure, when a regular file is cut back to what it held before.
  int write_to(int file);

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
