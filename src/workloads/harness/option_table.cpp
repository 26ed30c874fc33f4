#include "workloads/harness/option_table.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "base/assertion.h"
#include "workloads/harness/usage_error.h"
#include "workloads/harness/value_text.h"

namespace heaplab::harness {

namespace {

template <class Number>
using reader = std::optional<Number> (*)(std::string_view);

// An option whose value is a number; `show` formats a value.
template <class Number>
option number_option(std::string name, Number& variable, range<Number> allowed, std::string help,
                     reader<Number> read, std::string (*show)(Number), std::string kind,
                     std::string examples) {
  HEAPLAB_ASSERT(allowed.least <= variable && variable <= allowed.most);
  option made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.kind = std::move(kind);
  made.allowed = allowed.most == std::numeric_limits<Number>::max()
                     ? show(allowed.least) + " or more"
                     : show(allowed.least) + " to " + show(allowed.most);
  made.standard = show(variable);
  made.read = [&variable, allowed, read, words = made.allowed, examples](const std::string& text) {
    const std::optional<Number> number = read(text);
    if (!number) throw usage_error("'" + text + "' is not " + examples + "; allowed is " + words);
    if (*number < allowed.least || *number > allowed.most) throw usage_error(text + " is outside " + words);
    variable = *number;
  };
  // A signed number goes to JSON as a double, which json_line writes without a point if it is whole.
  using shown = std::conditional_t<std::is_signed_v<Number>, double, Number>;
  made.write = [&variable](probes::json_line& json) { json.value(static_cast<shown>(variable)); };
  return made;
}

std::string show_percent(double percent) {
  return show_number(percent) + "%";
}

std::string show_seconds(double seconds) {
  return show_number(seconds) + "s";
}

std::string join(const std::vector<std::string>& words) {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) all += i + 1 == words.size() ? " or " : ", ";
    all += words[i];
  }
  return all;
}

}  // namespace

void option_table::count(std::string name, std::uint64_t& variable, count_range allowed, std::string help) {
  add(number_option<std::uint64_t>(std::move(name), variable, allowed, std::move(help), read_count,
                                   show_count, "COUNT", "a count (1000, 10k)"));
}

void option_table::integer(std::string name, std::int64_t& variable, range<std::int64_t> allowed,
                           std::string help) {
  add(number_option<std::int64_t>(std::move(name), variable, allowed, std::move(help), read_integer,
                                  show_integer, "NUMBER", "a whole number (5, -5)"));
}

void option_table::size(std::string name, std::uint64_t& variable, count_range allowed, std::string help) {
  add(number_option<std::uint64_t>(std::move(name), variable, allowed, std::move(help), read_size, show_size,
                                   "SIZE", "a size (64, 8KiB, 2GB)"));
}

void option_table::percent(std::string name, double& variable, std::string help) {
  add(number_option<double>(std::move(name), variable, {0, 100}, std::move(help), read_percent, show_percent,
                            "PERCENT", "a percentage (10, 12.5%)"));
}

void option_table::duration(std::string name, double& variable, range<double> allowed, std::string help) {
  add(number_option<double>(std::move(name), variable, allowed, std::move(help), read_duration, show_seconds,
                            "DURATION", "a duration (2s, 200ms, 5m)"));
}

void option_table::flag(std::string name, bool& variable, std::string help) {
  option made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.standard = variable ? "on" : "off";
  made.flag = &variable;
  made.write = [&variable](probes::json_line& json) { json.value(variable); };
  add(std::move(made));
}

void option_table::text(std::string name, std::string& variable, std::string help) {
  option made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.kind = "TEXT";
  made.standard = variable;
  made.read = [&variable](const std::string& text) {
    if (text.empty()) throw usage_error("the text is empty");
    if (!is_utf8(text)) throw usage_error("the text is not UTF-8, which the JSON line needs");
    variable = text;
  };
  made.write = [&variable](probes::json_line& json) { json.value(std::string_view(variable)); };
  add(std::move(made));
}

void option_table::choice(std::string name, std::size_t& variable, std::vector<std::string> words,
                          std::string help) {
  add_choice(
      std::move(name), std::move(words), [&variable] { return variable; },
      [&variable](std::size_t index) { variable = index; }, std::move(help));
}

void option_table::add_choice(std::string name, std::vector<std::string> words,
                              std::function<std::size_t()> current, std::function<void(std::size_t)> set,
                              std::string help) {
  HEAPLAB_ASSERT(current() < words.size());
  option made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.kind = "CHOICE";
  made.allowed = join(words);
  made.standard = words[current()];
  made.read = [words, set, allowed = made.allowed](const std::string& text) {
    const auto found = std::find(words.begin(), words.end(), text);
    if (found == words.end()) throw usage_error("'" + text + "' is not " + allowed);
    set(static_cast<std::size_t>(found - words.begin()));
  };
  made.write = [words, current](probes::json_line& json) { json.value(std::string_view(words[current()])); };
  add(std::move(made));
}

void option_table::add(option made) {
  HEAPLAB_ASSERT(std::ranges::find(options_, made.name, &option::name) == options_.end());
  options_.push_back(std::move(made));
}

bool option_table::given(std::string_view name) const {
  const auto found =
      std::find_if(options_.begin(), options_.end(), [&](const option& entry) { return entry.name == name; });
  if (found == options_.end()) throw std::logic_error("no option --" + std::string(name) + " was declared");
  return found->given;
}

}  // namespace heaplab::harness
