#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace heaplab::probes {

// Reads a file of the kernel (/proc, /sys) into `buffer`; empty if there is no such file. Text that does not
// fit into the buffer is left out. Does not allocate.
std::string_view read_small_file(const char* path, char* buffer, std::size_t capacity);

// The same for an open file, read from its start.
std::string_view read_small_file(int file, char* buffer, std::size_t capacity);

// The number that follows `label` in `text` ("RssAnon:   120 kB"), if the label is there.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view label);

}  // namespace heaplab::probes
