#include "trace/import/imported_process.h"

#include <charconv>

#include "trace/file/summary.h"

namespace heaplab::trace {

namespace {

constexpr std::size_t names_at_once = std::size_t{1} << 20;  // bytes of a frame of names

}  // namespace

void imported_process::add_name(std::uint64_t address, std::string_view name) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, address, 16).ptr;
  names_.append(digits, end).append(1, ' ').append(name).append(1, '\n');
  if (names_.size() < names_at_once) return;
  to_.add_names(names_);
  names_.clear();
}

void imported_process::end(std::uint64_t skipped) {
  if (!modules_.empty()) to_.add_modules(modules_);
  if (!names_.empty()) to_.add_names(names_);
  properties summary = summary_of(counts());
  summary.set("threads", rules_.threads());
  summary.set("sites", sites_);
  summary.set("ended", 1);
  summary.set("lost", skipped);
  summary.set("lost_because", skipped == 0 ? "" : "lines that were not understood");
  to_.end_process(summary);
}

}  // namespace heaplab::trace
