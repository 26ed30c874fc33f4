// Only heaplab's front end calls this program (python/heaplab/traces/redirecting). For each line of standard
// input, `ADDRESS PADDING BYTES`, in hexadecimal, it prints how the first instructions of the function run
// elsewhere: `KEPT REPLACED CODE DISPLACEMENT...`, or `- WHY` if they cannot be moved (moved_entry.h).
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "moving/moved_entry.h"

namespace {

using heaplab::moving::moved_entry;

std::vector<std::uint8_t> bytes_of(const std::string& text) {
  std::vector<std::uint8_t> found;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2)
    found.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(at, 2), nullptr, 16)));
  return found;
}

void print(const moved_entry& entry) {
  if (!entry.fault.empty()) {
    std::cout << "- " << entry.fault << '\n';
    return;
  }
  constexpr char digits[] = "0123456789abcdef";
  std::cout << entry.kept << ' ' << entry.replaced << ' ';
  for (const std::uint8_t byte : entry.code) std::cout << digits[byte >> 4] << digits[byte & 15];
  for (const std::size_t at : entry.displacements) std::cout << ' ' << at;
  std::cout << '\n';
}

}  // namespace

int main() {
  try {
    std::uint64_t address = 0;
    std::size_t padding = 0;
    for (std::string text; std::cin >> std::hex >> address >> padding >> text;)
      print(heaplab::moving::move_entry(address, bytes_of(text), padding));
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
