// Fields of a line that spaces separate.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace heaplab::trace {

class fields {
public:
  explicit fields(std::string_view line) : rest_(line) {}

  // "" at the end of the line.
  std::string_view word() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    return text(rest_.find(' '));
  }

  // Hexadecimal, with or without 0x.
  std::optional<std::uint64_t> number() {
    std::string_view digits = word();
    if (digits.starts_with("0x")) digits.remove_prefix(2);
    std::uint64_t value = 0;
    const char* const begin = digits.data();
    const char* const end = begin + digits.size();
    const auto [stop, fault] = std::from_chars(begin, end, value, 16);
    return fault == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
  }

  // So many bytes, or what is left of the line.
  std::string_view text(std::size_t length) {
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(found.size());
    return found;
  }

  // What is left, without the space before it.
  std::string_view rest() const { return rest_.substr(rest_.starts_with(' ') ? 1 : 0); }

private:
  std::string_view rest_;
};

}  // namespace heaplab::trace
