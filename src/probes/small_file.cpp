#include "probes/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

namespace heaplab::probes {

std::string_view read_small_file(int file, char* buffer, std::size_t capacity) {
  std::size_t length = 0;
  while (length < capacity) {
    const ssize_t got = ::pread(file, buffer + length, capacity - length, static_cast<off_t>(length));
    if (got <= 0) break;
    length += static_cast<std::size_t>(got);
  }
  return {buffer, length};
}

std::string_view read_small_file(const char* path, char* buffer, std::size_t capacity) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const std::string_view text = read_small_file(file, buffer, capacity);
  ::close(file);
  return text;
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view label) {
  std::size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + label.size());
  at = text.find_first_not_of(" \t");
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace heaplab::probes
