#include "workloads/harness/value_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>

namespace heaplab::harness {

namespace {

struct suffix {
  std::string_view text;
  double factor;
};

constexpr double kibi = 1024.0;
constexpr std::array count_suffixes{suffix{"", 1}, suffix{"k", 1e3}, suffix{"M", 1e6}, suffix{"G", 1e9}};
constexpr std::array size_suffixes{suffix{"", 1},
                                   suffix{"B", 1},
                                   suffix{"KiB", kibi},
                                   suffix{"MiB", kibi* kibi},
                                   suffix{"GiB", kibi* kibi* kibi},
                                   suffix{"TiB", kibi* kibi* kibi* kibi},
                                   suffix{"kB", 1e3},
                                   suffix{"MB", 1e6},
                                   suffix{"GB", 1e9}};
constexpr std::array duration_suffixes{suffix{"", 1},      suffix{"s", 1},     suffix{"ms", 1e-3},
                                       suffix{"us", 1e-6}, suffix{"ns", 1e-9}, suffix{"min", 60}};
constexpr std::array percent_suffixes{suffix{"", 1}, suffix{"%", 1}};

// Splits "8KiB" into number and factor.
template <class Number>
std::optional<std::pair<Number, double>> split(std::string_view text, std::span<const suffix> suffixes) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const suffix& candidate : suffixes)
    if (candidate.text == rest) return std::pair{number, candidate.factor};
  return std::nullopt;
}

std::optional<std::uint64_t> read_whole(std::string_view text, std::span<const suffix> suffixes) {
  const auto parts = split<std::uint64_t>(text, suffixes);
  if (!parts) return std::nullopt;
  const auto factor = static_cast<std::uint64_t>(parts->second);
  if (parts->first > std::numeric_limits<std::uint64_t>::max() / factor) return std::nullopt;
  return parts->first * factor;
}

std::optional<double> read_real(std::string_view text, std::span<const suffix> suffixes) {
  const auto parts = split<double>(text, suffixes);
  if (!parts || !std::isfinite(parts->first)) return std::nullopt;
  return parts->first * parts->second;
}

// Bytes of the character that `text` begins with, 0 if it begins with none in UTF-8.
std::size_t length_of_character(std::string_view text) {
  struct form {
    std::uint32_t mask, lead, least;  // of the first byte; the least code that needs this form
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
  return read_whole(text, count_suffixes);
}

std::optional<std::int64_t> read_integer(std::string_view text) {
  const auto parts = split<std::int64_t>(text, std::span(count_suffixes).first(1));
  return parts ? std::optional(parts->first) : std::nullopt;
}

std::optional<std::uint64_t> read_size(std::string_view text) {
  return read_whole(text, size_suffixes);
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
