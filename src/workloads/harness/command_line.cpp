// The only file that uses the command line library.
#include "workloads/harness/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <numeric>

#include "workloads/harness/usage_error.h"
#include "workloads/harness/value_text.h"

namespace heaplab::harness {

namespace {

std::string described(const option& entry) {
  std::string text = entry.help;
  std::string facts = entry.allowed;
  if (!entry.standard.empty()) facts += (facts.empty() ? "default " : "; default ") + entry.standard;
  if (!facts.empty()) text += " (" + facts + ")";
  return text;
}

// Shows --name and --no-name of a flag as one entry.
class help_formatter final : public CLI::Formatter {
public:
  std::string make_option_name(const CLI::Option* entry, bool is_positional) const override {
    const std::string name = CLI::Formatter::make_option_name(entry, is_positional);
    const std::size_t second = name.find(",--no-");
    return second == std::string::npos ? name : "--[no-]" + name.substr(2, second - 2);
  }
};

void add_to(CLI::App& app, option& entry) {
  if (entry.flag != nullptr) {
    app.add_flag("--" + entry.name + ",!--no-" + entry.name, *entry.flag, described(entry))
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    return;
  }
  const auto take = [&entry](const std::string& text) {
    try {
      entry.read(text);
    } catch (const usage_error& error) {
      throw usage_error("--" + entry.name + ": " + error.what());
    }
  };
  app.add_option_function<std::string>("--" + entry.name, take, described(entry))
      ->type_name(entry.kind)
      ->take_last();
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

// One line about an unknown argument, with the most similar option.
std::string about_unknown(const std::string& argument, const option_table& options) {
  const std::string typed = argument.substr(0, argument.find('='));
  std::string line = (typed.starts_with("-") ? "unknown option " : "unexpected argument ") + typed;
  std::string nearest;
  std::size_t least = 4;
  for (const option& entry : options.options()) {
    const std::string dashed = "--" + entry.name;
    if (const std::size_t distance = edit_distance(typed, dashed); distance < least) {
      least = distance;
      nearest = dashed;
    }
  }
  return line + (nearest.empty() ? "; see --help" : "; did you mean " + nearest + "?");
}

option aged_option(std::optional<aging>& aged) {
  option made;
  made.name = "aged";
  made.help = "Before the clock starts allocate in the sizes of the workload, and free all but OCCUPANCY";
  made.kind = "SEED:OCCUPANCY";
  made.read = [&aged](const std::string& text) { aged = aging::read(text); };
  made.write = [&aged](probes::json_line& json) {
    const std::string text =
        aged ? std::to_string(aged->seed) + ":" + show_number(aged->occupancy) + "%" : std::string();
    json.value(std::string_view(text));
  };
  return made;
}

void declare_services(const description& about, option_table& options, request& wanted) {
  options.count("seed", wanted.services.seed, {0, no_limit}, "Seed of every random choice");
  if (about.times_calls) {
    options.flag("latency", wanted.services.latency, "Latency of single calls, by timing one in 64");
    options.choice("pitfall", wanted.services.flaw,
                   {{"none", pitfall::none},
                    {"timed-calls", pitfall::timed_calls},
                    {"ordered-count", pitfall::ordered_count},
                    {"shared-line", pitfall::shared_line}},
                   "What a benchmark may do wrong in every call, on purpose, to see how large the error is");
  }
  options.flag("memory-left", wanted.services.memory_left,
               "Memory left 100 ms and 1 s after everything was freed");
  options.options().push_back(aged_option(wanted.services.aged));
  options.flag("counters", wanted.services.counters, "Counters of the processor, where it has them");
}

}  // namespace

void read_command_line(const description& about, option_table& options, request& wanted, int argc,
                       char** argv) {
  declare_services(about, options, wanted);
  CLI::App app(std::string(about.name) + ": " + about.summary, about.name);
  app.formatter(std::make_shared<help_formatter>());
  for (option& entry : options.options()) add_to(app, entry);
  app.add_option("--json", wanted.json, "Write the result as one JSON line to FILE, - or fd:N")
      ->type_name("FILE")
      ->check([](const std::string& file) { return file.empty() ? "the name of the file is empty" : ""; })
      ->take_last();
  app.add_flag("--estimate", wanted.estimate,
               "Print the memory that a run with these options needs as one JSON line, and do not run");
  app.set_version_flag("--version", std::string(about.name) + " (heaplab " HEAPLAB_VERSION ")");
  app.footer(std::string("\nExample: ") + about.example);
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    wanted.text = app.help();
  } catch (const CLI::CallForVersion& version) {
    wanted.text = std::string(version.what()) + "\n";
  } catch (const CLI::ParseError& error) {
    throw usage_error(error.what());
  }
  if (!wanted.text.empty()) return;
  if (const auto extras = app.remaining(); !extras.empty())
    throw usage_error(about_unknown(extras.front(), options));
  for (option& entry : options.options()) entry.given = app.count("--" + entry.name) != 0;
  if (wanted.services.latency && wanted.services.flaw != pitfall::none)
    throw usage_error("--latency and --pitfall exclude each other: give one of the two");
}

}  // namespace heaplab::harness
