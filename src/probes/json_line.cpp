#include "probes/json_line.h"

#include <sys/mman.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <new>

#include "base/os_pages.h"

namespace heaplab::probes {

namespace {

constexpr std::size_t first_capacity = std::size_t{64} << 10;
constexpr double largest_exact_integer = 9007199254740992.0;  // 2^53

}  // namespace

json_line::json_line()
    : buffer_(static_cast<char*>(os_pages::allocate(first_capacity))), capacity_(first_capacity) {
  if (buffer_ == nullptr) throw std::bad_alloc();
}

json_line::~json_line() {
  os_pages::unmap(buffer_, capacity_);
}

json_line& json_line::put(std::string_view text) {
  if (text.size() > capacity_ - length_) {
    std::size_t larger = capacity_;
    while (text.size() > larger - length_) larger *= 2;
    void* const moved = ::mremap(buffer_, capacity_, larger, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) throw std::bad_alloc();
    buffer_ = static_cast<char*>(moved);
    capacity_ = larger;
  }
  std::memcpy(buffer_ + length_, text.data(), text.size());
  length_ += text.size();
  return *this;
}

json_line& json_line::put(char character) {
  return put(std::string_view(&character, 1));
}

// Writes a comma, except before the first value of an object, an array or a line, and between a key and its
// value.
void json_line::separate() {
  if (length_ != 0 && std::strchr("{[:\n", buffer_[length_ - 1]) == nullptr) put(',');
}

json_line& json_line::open(char bracket) {
  separate();
  return put(bracket);
}

json_line& json_line::put_escaped(char character) {
  const auto code = static_cast<unsigned char>(character);
  if (character == '"' || character == '\\') return put('\\').put(character);
  if (code >= 0x20) return put(character);
  return put("\\u00").put("0123456789abcdef"[code >> 4]).put("0123456789abcdef"[code & 15]);
}

json_line& json_line::value(std::string_view text) {
  separate();
  put('"');
  for (const char character : text) put_escaped(character);
  return put('"');
}

json_line& json_line::key(std::string_view name) {
  return value(name).put(':');
}

json_line& json_line::value(bool truth) {
  separate();
  return put(truth ? "true" : "false");
}

json_line& json_line::value(std::uint64_t number) {
  separate();
  char digits[24];
  return put(
      {digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, number).ptr - digits)});
}

json_line& json_line::value(double number) {
  separate();
  if (!std::isfinite(number)) return put("null");
  char digits[32];
  char* const end = digits + sizeof digits;
  const bool whole = std::trunc(number) == number && std::abs(number) < largest_exact_integer;
  const auto result = whole ? std::to_chars(digits, end, static_cast<std::int64_t>(number))
                            : std::to_chars(digits, end, number);
  return put({digits, static_cast<std::size_t>(result.ptr - digits)});
}

}  // namespace heaplab::probes
