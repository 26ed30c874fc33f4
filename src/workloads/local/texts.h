#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "probes/off_heap_pages.h"
#include "workloads/harness/measurement.h"
#include "workloads/harness/random_stream.h"

namespace heaplab::strategies {

// Strings of 33 to 1000 random characters, all lengths equally likely; none fits into the small buffer of
// std::string. They are substrings of one text outside the heap. Any 65536 strings with consecutive numbers
// begin at different positions of that text, so that no two are equal.
class texts {
public:
  static constexpr std::uint64_t least = 33;
  static constexpr std::uint64_t most = 1000;

  explicit texts(std::uint64_t seed)
      : pages_(harness::take_pages(probes::off_heap_pages::needed<char>(places + most) +
                                   probes::off_heap_pages::needed<std::uint16_t>(lengths))),
        characters_(pages_.array<char>(places + most)),
        lengths_(pages_.array<std::uint16_t>(lengths)) {
    harness::random_stream random(seed);
    for (char& character : characters_) character = static_cast<char>(random.between(' ', '~'));
    for (std::uint16_t& length : lengths_) length = static_cast<std::uint16_t>(random.between(least, most));
  }

  std::string_view operator[](std::uint64_t number) const {
    return {characters_.data() + number % places, lengths_[number % lengths]};
  }

private:
  static constexpr std::uint64_t places = 65536;
  static constexpr std::uint64_t lengths = 4096;

  probes::off_heap_pages pages_;
  std::span<char> characters_;
  std::span<std::uint16_t> lengths_;
};

}  // namespace heaplab::strategies
