// Settings from the environment, read once at the first allocation. A setting that cannot be used gives a
// line on standard error, and the default is used. A set-user-id program reads none.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "allocators/scalloc/policy/config.h"
#include "base/narrow.h"
#include "base/process_environment.h"
#include "base/text_line.h"

namespace heaplab::scalloc {

// Takes a number off the beginning of the text.
inline std::optional<std::uint64_t> parse_number(std::string_view& text) {
  std::uint64_t value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

inline std::optional<std::size_t> parse_size(std::string_view text) {
  constexpr std::string_view suffixes[] = {"", "KiB", "MiB", "GiB", "TiB"};
  const std::optional<std::uint64_t> number = parse_number(text);
  if (!number) return std::nullopt;
  for (unsigned power = 0; power < 5; ++power) {
    if (text != suffixes[power]) continue;
    const unsigned shift = 10 * power;
    if (*number > (UINT64_MAX >> shift)) return std::nullopt;
    return *number << shift;
  }
  return std::nullopt;
}

inline bool set_reuse_percent(tuning& to, std::string_view text) {
  const auto value = parse_number(text);
  if (!value || !text.empty() || *value > 100) return false;
  to.reuse_percent = narrow<unsigned>(*value);
  return true;
}

inline bool set_madvise_above(tuning& to, std::string_view text) {
  const auto value = text == "never" ? std::optional(unlimited) : parse_size(text);
  if (value) to.purge_above = *value;
  return value.has_value();
}

inline bool set_retain(tuning& to, std::string_view text) {
  const auto value = parse_size(text);
  if (value) to.retained_span_bytes = to.retained_large_bytes = *value;
  if (value) to.retains_beyond_bound = false;
  return value.has_value();
}

inline bool set_arena(tuning& to, std::string_view text) {
  const auto value = parse_size(text);
  if (!value || *value < least_arena_setting || *value > most_arena_setting) return false;
  to.arena_bytes = *value;
  return true;
}

inline bool set_huge_pages(tuning& to, std::string_view text) {
  constexpr std::string_view names[] = {"never", "grown", "always"};
  for (unsigned index = 0; index < 3; ++index) {
    if (text != names[index]) continue;
    to.huge_pages = static_cast<huge_page_policy>(index);
    return true;
  }
  return false;
}

template <auto Switch>
bool set_switch(tuning& to, std::string_view text) {
  if (text != "0" && text != "1") return false;
  to.*Switch = text == "1";
  return true;
}

struct setting {
  const char* variable;
  const char* range;
  bool (*set)(tuning&, std::string_view);
};

// Sizes take a suffix: KiB, MiB, GiB, TiB.
inline constexpr setting setting_table[] = {
    // A span is reusable when more than this part of it is free.
    {"HEAPLAB_SCALLOC_REUSE_PERCENT", "a number from 0 to 100", set_reuse_percent},
    // Free spans larger than this return their memory.
    {"HEAPLAB_SCALLOC_MADVISE_ABOVE", "a size such as 32KiB, or never", set_madvise_above},
    // Of free spans retained for reuse, besides a sixteenth of the fine zone, and as much of large blocks.
    {"HEAPLAB_SCALLOC_RETAIN", "a size such as 16MiB, or 0 for none", set_retain},
    // Address space; at most half of RLIMIT_AS.
    {"HEAPLAB_SCALLOC_ARENA", "a size from 8MiB to 1TiB", set_arena},
    {"HEAPLAB_SCALLOC_HUGE_PAGES", "never, grown or always", set_huge_pages},
    // Free spans return their memory by process_madvise, where Linux has it.
    {"HEAPLAB_SCALLOC_PURGE_AT_ONCE", "0 or 1", set_switch<&tuning::purge_at_once>},
    // A background purge thread returns memory that is not needed for a second, also where the program does
    // nothing.
    {"HEAPLAB_SCALLOC_PURGE_WHEN_IDLE", "0 or 1", set_switch<&tuning::purges_when_idle>},
    // Statistics on standard error when the process ends.
    {"HEAPLAB_SCALLOC_STATISTICS", "0 or 1", set_switch<&tuning::statistics_at_exit>},
};

inline void read_environment(tuning& to) {
  for (const setting& row : setting_table) {
    const char* const value = process_variable(row.variable);
    if (value == nullptr || row.set(to, value)) continue;
    text_line()
        .add("heaplab: ")
        .add(row.variable)
        .add("=")
        .add(value)
        .add(": wanted is ")
        .add(row.range)
        .add("; the default is used")
        .write_to(STDERR_FILENO);
  }
}

}  // namespace heaplab::scalloc
