#include "trace/import/heaptrack_lines.h"

#include <algorithm>
#include <charconv>

#include "trace/file/trace_error.h"

namespace heaplab::trace {

namespace {

constexpr std::uint64_t newest_format = 3;  // texts have their lengths in front of them
constexpr std::uint64_t ns_per_ms = 1'000'000;
constexpr std::uint64_t first_made_up = 0x10000;
constexpr std::uint64_t made_up_bytes = 16;

std::string hexadecimal(std::uint64_t number) {
  char digits[16];
  return {digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr};
}

}  // namespace

heaptrack_lines::heaptrack_lines(trace_writer& to, std::string_view first_line, const std::string& name)
    : to_(to), made_up_(first_made_up) {
  fields in(first_line.substr(1));
  in.word();
  format_ = in.number().value_or(0);
  if (format_ > newest_format)
    throw trace_error(name, "has format " + std::to_string(format_) +
                                " of heaptrack, this heaplab reads 0 to " + std::to_string(newest_format));
  of_.set("source", "heaptrack");
  of_.set("stamps", "clock");
  of_.set("ticks_per_second", 1000 * ns_per_ms);
  of_.set("resolution_ns", 10 * ns_per_ms);  // between two lines with the time
  of_.set("stacks", "full");
}

imported_process& heaptrack_lines::process() {
  if (!process_) process_.emplace(to_, of_);
  return *process_;
}

bool heaptrack_lines::add(std::string_view line) {
  if (line.empty() || line.front() == '#') return true;
  if (line.size() < 2 && line.front() != 'A') return false;
  fields in(line.substr(1));
  switch (line.front()) {
    case '+':
      return acquire(in);
    case '-':
      return release(in);
    case 'a':
      return add_acquisition(in);
    case 't':
      return add_stack(in);
    case 'i':
      return add_code(in);
    case 's':
      texts_.emplace_back(sized_text(in));
      return true;
    case 'm':
      return add_module(in);
    case 'x':
      of_.set("program", sized_text(in));
      return true;
    case 'X':
      add_program(in.rest());
      return true;
    case 'c': {
      const auto ms = in.number();
      if (ms && process_) process_->reach(*ms * ns_per_ms);
      return ms.has_value();
    }
    default:
      return std::string_view("AIRSv").find(line.front()) != std::string_view::npos;
  }
}

std::string_view heaptrack_lines::sized_text(fields& in) const {
  if (format_ >= newest_format) {
    const std::uint64_t length = in.number().value_or(0);
    in.text(1);
    return in.text(length);
  }
  return in.rest();
}

void heaptrack_lines::add_program(std::string_view line) {
  std::string arguments(line);
  std::replace(arguments.begin(), arguments.end(), ' ', '\0');
  of_.set("arguments", arguments + '\0');
  if (!of_.has("program")) of_.set("program", line.substr(0, line.find(' ')));
}

bool heaptrack_lines::add_code(fields& in) {
  const auto address = in.number();
  if (!address) return false;
  const std::string name = name_of_code(in);
  codes_.push_back(*address);
  if (!name.empty()) process().add_name(*address, name);
  return true;
}

// The innermost function of those that are inlined into each other, with the file and the line.
std::string heaptrack_lines::name_of_code(fields& in) const {
  const auto text = [this](std::optional<std::uint64_t> number) {
    return number && *number > 0 && *number <= texts_.size() ? texts_[*number - 1] : std::string();
  };
  const std::string module = text(in.number());
  const std::string function = text(in.number());
  const std::string file = text(in.number());
  const std::string shown = function.empty() ? "?" : function;
  if (file.empty()) return module.empty() ? "" : shown + " (in " + module + ")";
  return shown + " (" + file + ":" + std::to_string(in.number().value_or(0)) + ")";
}

// PATH BASE and pairs of an address from there and a size; the path of the program is x, - begins anew.
bool heaptrack_lines::add_module(fields& in) {
  std::string path(format_ >= newest_format ? sized_text(in) : in.word());
  if (path == "-") return true;
  if (path == "x") path = of_.text("program");
  const auto base = in.number();
  const auto first = in.number();
  if (!base || !first) return false;
  std::uint64_t end = *first + in.number().value_or(0);
  for (auto at = in.number(); at; at = in.number()) end = *at + in.number().value_or(0);
  if (*base + *first >= *base + end) return false;
  const std::string mapped =
      hexadecimal(*base + *first) + '-' + hexadecimal(*base + end) + " 0 " + path + '\n';
  if (modules_.insert(mapped).second) process().add_module(mapped);
  return true;
}

bool heaptrack_lines::add_stack(fields& in) {
  const auto code = in.number();
  const auto parent = in.number();
  if (!code || !parent || *parent > stacks_.size()) return false;
  const bool numbered = !codes_.empty();
  if (numbered && (*code == 0 || *code > codes_.size())) return false;
  stacks_.push_back({numbered ? codes_[*code - 1] : *code, static_cast<std::uint32_t>(*parent), 0});
  return true;
}

bool heaptrack_lines::add_acquisition(fields& in) {
  const auto size = in.number();
  const auto stack_number = in.number();
  if (!size || !stack_number) return false;
  acquisitions_.push_back({*size, *stack_number, {}});
  return true;
}

bool heaptrack_lines::acquire(fields& in) {
  const auto first = in.number();
  const auto stack_number = in.number();
  const auto block = in.number();
  if (!first) return false;
  imported_process& to = process();
  if (block) {
    return to.add(kind::malloc, *block, *first, site_of(*stack_number));
  }
  if (*first >= acquisitions_.size()) return false;
  acquisition& of = acquisitions_[*first];
  made_up_ += made_up_bytes;
  if (!to.add(kind::malloc, made_up_, of.size, site_of(of.stack))) return false;
  of.live.push_back(made_up_);
  return true;
}

bool heaptrack_lines::release(fields& in) {
  const auto number = in.number();
  if (!number) return false;
  if (acquisitions_.empty()) {
    return process().add(kind::free, *number, 0, 0);
  }
  if (*number >= acquisitions_.size() || acquisitions_[*number].live.empty()) return false;
  std::vector<std::uint64_t>& live = acquisitions_[*number].live;
  process().add(kind::free, live.back(), 0, 0);
  live.pop_back();
  return true;
}

std::uint32_t heaptrack_lines::site_of(std::uint64_t number) {
  if (number == 0 || number > stacks_.size()) return 0;
  stack& found = stacks_[number - 1];
  if (found.site != 0) return found.site;
  frames_.clear();
  for (std::uint64_t at = number; at != 0; at = stacks_[at - 1].parent)
    frames_.push_back(stacks_[at - 1].address);
  return found.site = process().add_site(frames_);
}

}  // namespace heaplab::trace
