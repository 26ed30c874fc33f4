#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace heaplab::probes {

// Reads a file of the kernel (/proc, /sys) into `buffer`; empty where there is none. Text beyond the
// buffer is left out. Does not allocate.
std::string_view read_small_file(const char* path, char* buffer, std::size_t capacity);

// As above, from the start of a file that is open already.
std::string_view read_small_file(int file, char* buffer, std::size_t capacity);

// The number that follows `label` in `text` ("RssAnon:   120 kB"), if the label is there.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view label);

}  // namespace heaplab::probes
