// Lines of a text that comes through a file descriptor, packed by zstd or plain. Memory: 256 KiB and the
// longest line.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heaplab::trace {

class text_lines {
public:
  static constexpr std::size_t longest = std::size_t{1} << 20;  // bytes of a line

  // `name` is what errors call the text.
  text_lines(int descriptor, std::string name);
  ~text_lines();
  text_lines(const text_lines&) = delete;
  text_lines& operator=(const text_lines&) = delete;

  // The next line without its end; valid until the next call. False at the end. A last line without an end is
  // left out: it was cut off. Throws trace_error: unreadable, or a line too long.
  bool next(std::string_view& line);

  // Whether the text ended within a line or within what zstd packed. Meant for after the end.
  bool cut_off() const { return cut_off_; }
  bool is_within_frame() const { return frame_open_; }  // of zstd

private:
  struct unpacker;
  bool refill();            // false: no more text
  std::size_t read_more();  // bytes from the descriptor
  bool unpack();

  int descriptor_;
  std::string name_;
  std::vector<char> packed_;
  std::size_t packed_at_ = 0;
  std::vector<char> text_;
  std::size_t at_ = 0;
  std::string line_;
  std::unique_ptr<unpacker> unpacker_;  // null: plain text
  bool begun_ = false;
  bool frame_open_ = false;
  bool cut_off_ = false;
};

}  // namespace heaplab::trace
