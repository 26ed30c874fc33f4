#include "probes/memory_maps.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

namespace heaplab::probes {

namespace {

// Removes the first word of `line`, with the blanks behind the word, and returns the word.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  const std::size_t next = line.find_first_not_of(' ');
  line.remove_prefix(next == std::string_view::npos ? line.size() : next);
  return word;
}

std::uint64_t read_hexadecimal(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return number;
}

}  // namespace

// "start-end permissions offset device inode   path"
void maps_reader::add_line(std::string_view line) {
  const std::string_view area = take_word(line);
  const std::size_t dash = area.find('-');
  if (dash == std::string_view::npos) return;
  const std::uint64_t start = read_hexadecimal(area.substr(0, dash));
  const std::uint64_t end = read_hexadecimal(area.substr(dash + 1));
  for (int skipped = 0; skipped < 3; ++skipped) take_word(line);
  const bool of_file = take_word(line) != "0";
  if (of_file) {
    if (line != program_) sum_.files += end - start;
  } else if (line == "[heap]" || (line.empty() && start == heap_end_)) {
    sum_.heap += end - start;
    heap_end_ = end;
  } else if (line.empty() || line.starts_with("[anon")) {
    sum_.mmap += end - start;
  }
}

mapped_memory read_memory_maps() {
  char program[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", program, sizeof program);
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (length < 0 || file < 0) return {};
  maps_reader reader({program, static_cast<std::size_t>(length)});
  char buffer[2 * PATH_MAX];
  std::size_t held = 0;
  for (ssize_t got; (got = ::read(file, buffer + held, sizeof buffer - held)) > 0;) {
    std::string_view text(buffer, held + static_cast<std::size_t>(got));
    for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
      reader.add_line(text.substr(0, end));
    held = text.size();
    std::memmove(buffer, text.data(), held);
  }
  ::close(file);
  return reader.sum();
}

}  // namespace heaplab::probes
