// Text without allocation: for diagnostics of code that is itself the malloc.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace heaplab {

// Collects up to 511 characters, to be written to a file descriptor. Longer text is cut off.
class text_line {
public:
  text_line& add(const char* text) {
    while (*text != '\0') put(*text++);
    return *this;
  }

  text_line& add_decimal(std::uint64_t number) {
    char digits[20];
    unsigned count = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0) put(digits[--count]);
    return *this;
  }

  text_line& add_hex(std::uint64_t number) {
    add("0x");
    bool leading = true;
    for (int shift = 60; shift >= 0; shift -= 4) {
      const unsigned digit = static_cast<unsigned>(number >> shift) & 15U;
      leading = leading && digit == 0 && shift != 0;
      if (!leading) put("0123456789abcdef"[digit]);
    }
    return *this;
  }

  text_line& add_address(const void* address) { return add_hex(reinterpret_cast<std::uintptr_t>(address)); }

  // Ends the line and writes the whole line, or as much as the system takes.
  void write_to(int file) {
    buffer_[length_++] = '\n';
    for (std::size_t done = 0; done < length_;) {
      const ssize_t written = ::write(file, buffer_ + done, length_ - done);
      if (written <= 0) break;
      done += static_cast<std::size_t>(written);
    }
    length_ = 0;
  }

private:
  void put(char character) {
    if (length_ + 1 < sizeof buffer_) buffer_[length_++] = character;
  }

  std::size_t length_ = 0;
  char buffer_[512];
};

}  // namespace heaplab
