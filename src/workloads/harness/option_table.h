// The options of a workload, declared in a table: name, kind, range, default and one line of help.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/json_line.h"

namespace heaplab::harness {

// Both ends are included.
template <class Number>
struct range {
  Number least;
  Number most;
};

inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// One option. Its default is the value that the variable has when the option is declared.
struct option {
  std::string name;      // without the dashes
  std::string help;      // one line
  std::string kind;      // "COUNT", "SIZE", ...; empty for a flag
  std::string allowed;   // the allowed values in words: "1 to 64", "list or tree"
  std::string standard;  // the default as a user would type it
  // Reads the text into the variable. Throws usage_error with a text that does not contain the option's name.
  std::function<void(const std::string&)> read;
  std::function<void(probes::json_line&)> write;
  bool* flag = nullptr;  // the variable of a flag, else null
  bool given = false;    // whether the option was on the command line
};

class option_table {
public:
  using count_range = range<std::uint64_t>;

  // A number of things, with suffixes k, M, G.
  void count(std::string name, std::uint64_t& variable, count_range allowed, std::string help);
  // A number with or without a sign, without suffixes.
  void integer(std::string name, std::int64_t& variable, range<std::int64_t> allowed, std::string help);
  // Bytes, with suffixes.
  void size(std::string name, std::uint64_t& variable, count_range allowed, std::string help);
  // 0 to 100.
  void percent(std::string name, double& variable, std::string help);
  // Seconds, with suffixes.
  void duration(std::string name, double& variable, range<double> allowed, std::string help);
  // --name and --no-name.
  void flag(std::string name, bool& variable, std::string help);
  // Any text; empty by default in most cases.
  void text(std::string name, std::string& variable, std::string help);

  // A choice from a list of words.
  template <class Enum>
  void choice(std::string name, Enum& variable, std::initializer_list<std::pair<const char*, Enum>> words,
              std::string help) {
    std::vector<std::string> names;
    std::vector<Enum> values;
    for (const auto& [word, value] : words) {
      names.emplace_back(word);
      values.push_back(value);
    }
    const auto current = [&variable, values] {
      std::size_t index = 0;
      while (values[index] != variable) ++index;
      return index;
    };
    add_choice(
        std::move(name), std::move(names), current,
        [&variable, values](std::size_t index) { variable = values[index]; }, std::move(help));
  }

  // A choice from `words`: the variable is the index of the word.
  void choice(std::string name, std::size_t& variable, std::vector<std::string> words, std::string help);

  // Whether the option, which must have been declared, was on the command line.
  bool given(std::string_view name) const;

  std::vector<option>& options() { return options_; }
  const std::vector<option>& options() const { return options_; }

private:
  void add(option made);
  void add_choice(std::string name, std::vector<std::string> words, std::function<std::size_t()> current,
                  std::function<void(std::size_t)> set, std::string help);

  std::vector<option> options_;
};

}  // namespace heaplab::harness
