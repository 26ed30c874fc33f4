#include "trace/file/properties.h"

#include <charconv>

namespace heaplab::trace {

namespace {

bool needs_escape(char character) {
  const auto code = static_cast<unsigned char>(character);
  return code < 0x20 || code == 0x7F || character == '%';
}

std::string escaped(std::string_view value) {
  std::string out;
  for (const char character : value) {
    if (!needs_escape(character)) {
      out += character;
      continue;
    }
    const auto code = static_cast<unsigned char>(character);
    out += '%';
    out += "0123456789ABCDEF"[code >> 4];
    out += "0123456789ABCDEF"[code & 15];
  }
  return out;
}

std::string unescaped(std::string_view value) {
  std::string out;
  for (std::size_t at = 0; at < value.size(); ++at) {
    unsigned code = 0;
    if (value[at] == '%' && at + 2 < value.size() &&
        std::from_chars(value.data() + at + 1, value.data() + at + 3, code, 16).ptr ==
            value.data() + at + 3) {
      out += static_cast<char>(code);
      at += 2;
    } else {
      out += value[at];
    }
  }
  return out;
}

}  // namespace

std::string_view properties::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string_view() : std::string_view(found->second);
}

std::uint64_t properties::number(std::string_view name) const {
  const std::string_view digits = text(name);
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::string properties::encode() const {
  std::string lines;
  for (const auto& [name, value] : values_) lines += name + '=' + escaped(value) + '\n';
  return lines;
}

properties properties::decode(std::string_view lines) {
  properties found;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(line.size() < lines.size() ? line.size() + 1 : lines.size());
    if (const std::size_t equals = line.find('='); equals != std::string_view::npos)
      found.set(line.substr(0, equals), unescaped(line.substr(equals + 1)));
  }
  return found;
}

}  // namespace heaplab::trace
