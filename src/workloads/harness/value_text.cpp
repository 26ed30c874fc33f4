#include "workloads/harness/value_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>

namespace heaplab::harness {

namespace {

// A unit: the value is the number times `factor`, divided by `divisor`. Both are integers, so that "10us"
// becomes the double nearest to 1e-5.
struct suffix {
  std::string_view text;
  double factor;
  double divisor = 1;
};

constexpr double kibi = 1024.0;
constexpr std::array count_suffixes{suffix{"", 1}, suffix{"k", 1e3}, suffix{"M", 1e6}, suffix{"G", 1e9}};
constexpr std::array size_suffixes{suffix{"", 1},
                                   suffix{"B", 1},
                                   suffix{"kB", 1e3},
                                   suffix{"MB", 1e6},
                                   suffix{"GB", 1e9},
                                   suffix{"TB", 1e12},
                                   suffix{"KiB", kibi},
                                   suffix{"MiB", kibi* kibi},
                                   suffix{"GiB", kibi* kibi* kibi},
                                   suffix{"TiB", kibi* kibi* kibi* kibi}};
constexpr std::array duration_suffixes{suffix{"", 1},        suffix{"ns", 1, 1e9}, suffix{"us", 1, 1e6},
                                       suffix{"ms", 1, 1e3}, suffix{"s", 1},       suffix{"m", 60},
                                       suffix{"min", 60},    suffix{"h", 3600}};
constexpr std::array percent_suffixes{suffix{"", 1}, suffix{"%", 1}};

// A number without a sign, and its unit.
struct quantity {
  std::string_view number;
  suffix unit;
  bool has_point;
};

// The number of digits at the beginning of `text`.
std::size_t count_digits(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  return end == std::string_view::npos ? text.size() : end;
}

// Splits "1.5KiB" into number and unit: digits, optionally a point and more digits, and one of the units.
std::optional<quantity> split(std::string_view text, std::span<const suffix> suffixes) {
  std::size_t length = count_digits(text);
  if (length == 0) return std::nullopt;
  const bool has_point = length < text.size() && text[length] == '.';
  if (has_point) {
    const std::size_t decimals = count_digits(text.substr(length + 1));
    if (decimals == 0) return std::nullopt;
    length += 1 + decimals;
  }
  for (const suffix& candidate : suffixes)
    if (candidate.text == text.substr(length)) return quantity{text.substr(0, length), candidate, has_point};
  return std::nullopt;
}

template <class Number>
std::optional<Number> to_number(std::string_view digits) {
  Number number{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

// The exact product of a number without a point and its unit.
std::optional<std::uint64_t> read_whole(const quantity& parts) {
  const auto number = to_number<std::uint64_t>(parts.number);
  const auto factor = static_cast<std::uint64_t>(parts.unit.factor);
  if (!number || *number > std::numeric_limits<std::uint64_t>::max() / factor) return std::nullopt;
  return *number * factor;
}

std::optional<double> read_real(std::string_view text, std::span<const suffix> suffixes) {
  const auto parts = split(text, suffixes);
  const auto number = parts ? to_number<double>(parts->number) : std::nullopt;
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return *number * parts->unit.factor / parts->unit.divisor;
}

// The length in bytes of the UTF-8 character at the beginning of `text`; 0 if there is none.
std::size_t length_of_character(std::string_view text) {
  struct form {
    // mask and value of the first byte; the smallest code point that needs this form
    std::uint32_t mask, lead, least;
  };
  constexpr std::array forms{form{0x80, 0, 0}, form{0xe0, 0xc0, 0x80}, form{0xf0, 0xe0, 0x800},
                             form{0xf8, 0xf0, 0x10000}};
  const auto byte = [&](std::size_t at) { return std::uint32_t{static_cast<unsigned char>(text[at])}; };
  for (std::size_t more = 0; more < forms.size(); ++more) {
    const auto [mask, lead, least] = forms[more];
    if ((byte(0) & mask) != lead) continue;
    if (text.size() <= more) return 0;
    std::uint32_t code = byte(0) & ~mask & 0xff;
    for (std::size_t at = 1; at <= more; ++at) {
      if ((byte(at) & 0xc0) != 0x80) return 0;
      code = code << 6 | (byte(at) & 0x3f);
    }
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code >= least && code <= 0x10ffff && !surrogate ? more + 1 : 0;
  }
  return 0;
}

}  // namespace

std::optional<std::uint64_t> read_count(std::string_view text) {
  const auto parts = split(text, count_suffixes);
  return parts && !parts->has_point ? read_whole(*parts) : std::nullopt;
}

std::optional<std::int64_t> read_integer(std::string_view text) {
  return to_number<std::int64_t>(text);
}

std::optional<std::uint64_t> read_size(std::string_view text) {
  constexpr double exact = 9007199254740992.0;  // 2^53: a double holds every integer up to here
  const auto parts = split(text, size_suffixes);
  if (!parts) return std::nullopt;
  if (!parts->has_point) return read_whole(*parts);
  const auto bytes = read_real(text, size_suffixes);
  if (!bytes || *bytes > exact) return std::nullopt;
  return static_cast<std::uint64_t>(std::floor(*bytes + 0.5));
}

std::optional<double> read_percent(std::string_view text) {
  return read_real(text, percent_suffixes);
}

std::optional<double> read_duration(std::string_view text) {
  return read_real(text, duration_suffixes);
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of_character(text.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string show_count(std::uint64_t count) {
  return std::to_string(count);
}

std::string show_integer(std::int64_t number) {
  return std::to_string(number);
}

std::string show_size(std::uint64_t bytes) {
  constexpr std::array suffixes{"", "KiB", "MiB", "GiB", "TiB"};
  std::size_t index = 0;
  while (bytes != 0 && bytes % 1024 == 0 && index + 1 < suffixes.size()) {
    bytes /= 1024;
    ++index;
  }
  return std::to_string(bytes) + suffixes[index];
}

std::string show_number(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", number);
  return text;
}

std::string show_rounded(double value, std::string_view unit) {
  struct scale {
    double from;
    const char* suffix;
  };
  constexpr std::array times{scale{1, " s"}, scale{1e-3, " ms"}, scale{1e-6, " us"}, scale{1e-9, " ns"}};
  constexpr std::array sizes{scale{kibi * kibi * kibi, " GiB"}, scale{kibi * kibi, " MiB"},
                             scale{kibi, " KiB"}, scale{1, " B"}};
  constexpr std::array rates{scale{1e9, " G/s"}, scale{1e6, " M/s"}, scale{1e3, " k/s"}, scale{1, " /s"}};
  constexpr std::array plain{scale{1, ""}};
  std::span<const scale> scales = plain;
  if (unit == "s") scales = times;
  if (unit == "B") scales = sizes;
  if (unit == "1/s") scales = rates;
  const scale* chosen = &scales.front();
  while (std::abs(value) < chosen->from && chosen != &scales.back()) ++chosen;
  char text[64];
  const double scaled = value / chosen->from;
  const bool whole = scaled == std::floor(scaled) && std::abs(scaled) < 1e15;
  std::snprintf(text, sizeof text, whole ? "%.0f%s" : "%.4g%s", scaled, chosen->suffix);
  return text;
}

}  // namespace heaplab::harness
