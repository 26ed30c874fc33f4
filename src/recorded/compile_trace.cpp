// compile_trace: compiles the events of one process of a trace into a workload file.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "probes/json_line.h"
#include "probes/tick_clock.h"
#include "recorded/census_moments.h"
#include "recorded/compiler.h"
#include "recorded/edited_events.h"
#include "trace/file/event_stream.h"
#include "trace/file/trace_error.h"
#include "trace/file/trace_file.h"
#include "trace/file/verifier.h"
#include "trace/profile/block_habits.h"
#include "trace/profile/last_act.h"

namespace {

using namespace heaplab;

constexpr const char* usage =
    "compile_trace: makes the workload file of a recorded process, for `replay`\n"
    "Usage: compile_trace TRACE WORKLOAD [PROCESS] [--census] [WHAT-IF SITES]...\n"
    "  TRACE     written by heaplab record (docs/trace-format.md)\n"
    "  WORKLOAD  file to write (docs/workload-format.md)\n"
    "  PROCESS   its number in the trace, from 0  [default: the one with the most events]\n"
    "  --census  also list the blocks that live at the peak, in troughs, at some moments between, at the "
    "end\n"
    "What if, at call sites named by numbers with commas between them:\n"
    "  --apart   their blocks get a heap of their own\n"
    "  --stack   their blocks that die at once are left out: they lie on the stack\n"
    "  --reserve their blocks that grow have their final size at first\n"
    "  --less    a share of their blocks is left out, SITE:SHARE with shares from 0 to 1\n"
    "Prints lines of JSON: how far it is, then what it found.\n"
    "Example: compile_trace redis.trace redis.workload\n";

// nominal rate of stamps that are tickets: an order without times
constexpr std::uint64_t tickets_per_second = 1'000'000'000;

void print(const probes::json_line& line) {
  std::fwrite(line.text().data(), 1, line.text().size(), stdout);
  std::fflush(stdout);
}

// Prints a line now and then, for a program that shows progress.
class progress {
public:
  explicit progress(std::uint64_t whole) : whole_(whole) {}

  void reached(std::uint64_t events) {
    constexpr std::uint64_t interval_ns = 250'000'000;
    const std::uint64_t now = probes::monotonic_nanoseconds();
    if (now - last_ < interval_ns) return;
    last_ = now;
    probes::json_line line;
    line.begin_object();
    line.key("done").value(static_cast<double>(events) / static_cast<double>(whole_));
    line.end_object();
    print(line.end_line());
  }

private:
  std::uint64_t whole_;
  std::uint64_t last_ = probes::monotonic_nanoseconds();
};

struct request {
  std::vector<const char*> names;  // trace, workload, perhaps a process
  bool census = false;
  std::unordered_set<std::uint32_t> apart;
  recorded::edits changed;
};

// A number at the beginning of the text, which is removed; nothing if there is none.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number{};
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

// Calls take(text) until no text is left, which takes from its beginning what stands between two commas, and
// tells whether it could.
template <class Take>
bool read_list(std::string_view text, Take take) {
  while (take(text)) {
    if (text.empty()) return true;
    if (text.front() != ',') return false;
    text.remove_prefix(1);
  }
  return false;
}

bool read_numbers(std::string_view text, std::unordered_set<std::uint32_t>& into) {
  return read_list(text, [&into](std::string_view& rest) {
    const auto number = take_number<std::uint32_t>(rest);
    if (number) into.insert(*number);
    return number.has_value();
  });
}

bool read_shares(std::string_view text, std::unordered_map<std::uint32_t, double>& into) {
  return read_list(text, [&into](std::string_view& rest) {
    const auto number = take_number<std::uint32_t>(rest);
    if (!number || !rest.starts_with(':')) return false;
    rest.remove_prefix(1);
    const auto share = take_number<double>(rest);
    if (!share || !(*share >= 0 && *share <= 1)) return false;
    into[*number] = *share;
    return true;
  });
}

// False: `name` is no option with a value, or the value is none.
bool read_option(std::string_view name, const char* value, request& into) {
  if (value == nullptr) return false;
  if (name == "--apart") return read_numbers(value, into.apart);
  if (name == "--stack") return read_numbers(value, into.changed.stack);
  if (name == "--reserve") return read_numbers(value, into.changed.reserve);
  return name == "--less" && read_shares(value, into.changed.less);
}

std::optional<request> read_request(const std::vector<const char*>& words) {
  request wanted;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (word == "--census") {
      wanted.census = true;
    } else if (word.starts_with("--")) {
      if (!read_option(word, ++at < words.size() ? words[at] : nullptr, wanted)) return std::nullopt;
    } else {
      wanted.names.push_back(words[at]);
    }
  }
  if (wanted.names.size() < 2 || wanted.names.size() > 3) return std::nullopt;
  return wanted;
}

// `wanted` is null for the process with the most events.
std::uint32_t chosen_process(const trace::trace_file& file, const char* wanted) {
  const auto& all = file.processes();
  if (all.empty()) throw trace::trace_error(file.path(), "holds no process");
  if (wanted == nullptr) {
    const auto fewer = [](const auto& left, const auto& right) { return left.events < right.events; };
    return static_cast<std::uint32_t>(std::max_element(all.begin(), all.end(), fewer) - all.begin());
  }
  std::uint32_t number = 0;
  const char* const end = wanted + std::strlen(wanted);
  const auto [rest, fault] = std::from_chars(wanted, end, number);
  if (fault != std::errc{} || rest != end || number >= all.size())
    throw trace::trace_error(
        file.path(), "has processes 0 to " + std::to_string(all.size() - 1) + ", and none is " + wanted);
  return number;
}

void tell(const trace::trace_file& file, std::uint32_t process, const recorded::header& head) {
  const trace::properties& of = file.processes()[process].of;
  probes::json_line line;
  line.begin_object();
  line.key("process").value(std::uint64_t{process});
  line.key("machine").value(std::uint64_t{file.machine()});
  line.key("processes").value(static_cast<std::uint64_t>(file.processes().size()));
  line.key("pid").value(of.number("pid"));
  line.key("program").value(of.text("program"));
  line.key("threads").value(static_cast<std::uint64_t>(head.streams - recorded::main_thread));
  line.key("calls").value(head.allocations + head.reallocations + head.releases);
  line.key("remote_releases").value(head.remote_releases);
  line.key("peak_live_bytes").value(head.peak_live_bytes);
  line.key("duration_s").value(static_cast<double>(head.duration_us) * 1e-6);
  line.key("lost").value(head.lost_events);
  line.key("unknown_releases").value(head.unknown_releases);
  line.key("doubled_blocks").value(head.doubled_blocks);
  line.key("damage").begin_array();
  for (const std::string& text : file.damage()) line.value(text);
  line.end_array();
  line.end_object();
  print(line.end_line());
}

// A pass over all events.
std::vector<recorded::moment> moments_of(trace::trace_file& file, std::uint32_t process) {
  trace::verifier seen(true);
  recorded::census_moments found;
  trace::each_lived(file, process, [&seen](const trace::event& block) { seen.lived(block); });
  trace::event_stream events(file, process);
  for (trace::event next; events.next(next);) {
    seen.see(next);
    found.see(seen.counts().live_bytes, seen.counts().live_blocks);
  }
  return found.chosen();
}

// Reads all events once more, if the changes depend on habits.
trace::block_habits habits_of(trace::trace_file& file, std::uint32_t process,
                              const recorded::edits& changed) {
  trace::block_habits found;
  if (!changed.need_habits()) return found;
  trace::event_stream events(file, process);
  for (trace::event next; events.next(next);) found.see(next);
  return found;
}

void compile(const request& wanted) {
  trace::trace_file file(wanted.names[0]);
  const std::uint32_t chosen = chosen_process(file, wanted.names.size() == 3 ? wanted.names[2] : nullptr);
  const auto moments = wanted.census ? moments_of(file, chosen) : std::vector<recorded::moment>{};
  const trace::trace_file::process_part& part = file.processes()[chosen];
  const std::uint64_t ticks = part.of.number("ticks_per_second");
  recorded::compiler compiler(wanted.names[1], 1,
                              static_cast<double>(ticks != 0 ? ticks : tickets_per_second), wanted.apart);
  trace::each_lived(file, chosen, [&compiler](const trace::event& block) { compiler.living(block); });
  const trace::block_habits habits = habits_of(file, chosen, wanted.changed);
  recorded::edited_events edited(wanted.changed, habits);
  trace::event_stream events(file, chosen);
  progress shown(part.events);
  std::uint64_t done = 0;
  const trace::last_act last = trace::last_act_of(file, chosen);
  bool ending = !wanted.census;
  const auto list_end = [&] {
    if (std::exchange(ending, true)) return;
    compiler.rest_until(last.begin);
    compiler.list_survivors(recorded::occasion::end);
  };
  auto coming = moments.begin();
  for (auto frame = events.next_frame(); !frame.empty(); frame = events.next_frame()) {
    for (const trace::event& next : frame) {
      if (next.stamp >= last.begin) {
        list_end();
      } else if (coming != moments.end() && coming->events == done) {
        compiler.rest_until(next.stamp);
        compiler.list_survivors((coming++)->why);
      }
      for (const trace::event& changed : edited.changed(next)) compiler.add(changed);
      ++done;
    }
    shown.reached(events.first() + frame.size());
  }
  list_end();
  tell(file, chosen, compiler.finish(events.lost()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(usage, stdout);
    return 0;
  }
  const std::optional<request> wanted = read_request({argv + 1, argv + argc});
  if (!wanted) {
    std::fputs("compile_trace: expects TRACE WORKLOAD [PROCESS] [--census] [WHAT-IF SITES]...; see --help\n",
               stderr);
    return 2;
  }
  try {
    compile(*wanted);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compile_trace: %s\n", error.what());
    return 2;
  }
}
