// Numbers in what /proc tells.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace heaplab::ask {

// Takes a number off the beginning of a text. None: the text begins with none.
template <class Number>
std::optional<Number> take_number(std::string_view& text, int base = 10) {
  Number number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (fault != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace heaplab::ask
