// How values are written on the command line and shown to people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heaplab::harness {

// Each function reads the whole text. The result is empty if the text is not such a value or the value does
// not fit. The grammar of sizes and durations is that of docs/guide.md, which heaplab's command line shares;
// both are tested against tests/units.txt.

// "1000", "10k", "2M", "1G": suffixes are powers of 1000.
std::optional<std::uint64_t> read_count(std::string_view text);
// "5", "-5".
std::optional<std::int64_t> read_integer(std::string_view text);
// Bytes: "64", "64B", "8KiB", "1.5GiB" (powers of 1024), "10kB", "2GB" (powers of 1000). Rounded to a byte.
std::optional<std::uint64_t> read_size(std::string_view text);
// "10", "10%", "0.5". Percent.
std::optional<double> read_percent(std::string_view text);
// Seconds: "2", "2s", "0.5s", "200ms", "10us", "500ns", "5m", "5min", "1h".
std::optional<double> read_duration(std::string_view text);

// Whether JSON can hold the text: valid UTF-8 by Unicode's table 3-7, without overlong forms and surrogates.
bool is_utf8(std::string_view text);

std::string show_count(std::uint64_t count);
std::string show_integer(std::int64_t number);
// With a suffix if the value is a multiple of it: "8KiB", "1000".
std::string show_size(std::uint64_t bytes);
std::string show_number(double number);
// Rounded to four digits, with the suffix that fits: "12.34 ms", "1.234 MiB", "5.6 M/s".
std::string show_rounded(double value, std::string_view unit);

}  // namespace heaplab::harness
