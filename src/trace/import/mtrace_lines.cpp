#include "trace/import/mtrace_lines.h"

#include "trace/import/fields.h"

namespace heaplab::trace {

namespace {

properties describe() {
  properties of;
  of.set("source", "mtrace");
  of.set("stamps", "tickets");
  of.set("ticks_per_second", 0);
  of.set("stacks", "caller");
  return of;
}

}  // namespace

mtrace_lines::mtrace_lines(trace_writer& to) : process_(to, describe()) {}

bool mtrace_lines::add(std::string_view line) {
  if (line == "= Start" || line == "= End" || line.empty()) return true;
  // The place may hold spaces, what follows does not.
  const std::size_t bracket = line.rfind("] ");
  if (!line.starts_with("@ ") || bracket == std::string_view::npos) return false;
  const std::string_view place = line.substr(2, bracket - 1);
  fields in(line.substr(bracket + 2));
  const std::string_view sign = in.word();
  const auto block = in.number();
  const auto size = in.number();
  if (sign.size() != 1 || !block || (!size && (sign == "+" || sign == ">" || sign == "!"))) return false;
  const std::uint32_t site = site_of(place);
  switch (sign.front()) {
    case '+':
      return process_.add(kind::malloc, *block, *size, site);
    case '-':
      return process_.add(kind::free, *block, 0, site);
    case '<':
      return process_.add(kind::realloc_from, *block, 0, site);
    case '>':
      return process_.add(kind::realloc_to, *block, *size, site);
    case '!':
      return process_.add(kind::realloc_to, 0, *size, site);
    default:
      return false;
  }
}

// The call site of a place such as "/usr/lib/a.so:(f)[0x10]". Its address is an offset in the file, which a
// place in another file may share: a number of its own stands for the code address, and the place's text for
// the name.
std::uint32_t mtrace_lines::site_of(std::string_view place) {
  place_ = place;
  const auto [found, first] = sites_.try_emplace(place_, 0);
  if (!first) return found->second;
  const std::uint64_t stands_for = sites_.size();
  process_.add_name(stands_for, place);
  return found->second = process_.add_site({&stands_for, 1});
}

}  // namespace heaplab::trace
