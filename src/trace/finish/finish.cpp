#include "trace/finish/finish.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "probes/tick_clock.h"
#include "trace/file/summary.h"
#include "trace/file/trace_error.h"
#include "trace/file/trace_writer.h"
#include "trace/file/verifier.h"
#include "trace/finish/merged_events.h"
#include "trace/finish/ranges_at_moments.h"
#include "trace/finish/raw_process.h"
#include "trace/finish/recorded_modules.h"

namespace heaplab::trace {

namespace {

constexpr std::uint64_t long_enough_ns = 1'000'000'000;  // long enough to measure the rate of a counter
constexpr std::uint64_t report_every = 1 << 20;          // events

constexpr const char* reasons[losses] = {"made within another allocation call",
                                         "size limit",
                                         "disk full",
                                         "no memory to map",
                                         "refused by the system",
                                         "behind a filter of system calls (seccomp)"};

// Calls that were not recorded, and why, for people.
struct lost_calls {
  std::uint64_t calls = 0;
  std::string because;
};

// `error` is that of the last system call that failed.
lost_calls lost_calls_of(const std::uint64_t (&by_reason)[losses], std::uint32_t error) {
  lost_calls found;
  for (std::size_t why = 0; why < losses; ++why) {
    const std::uint64_t calls = by_reason[why];
    if (calls == 0) continue;
    found.calls += calls;
    found.because += (found.because.empty() ? "" : ", ") + std::string(reasons[why]);
    if (static_cast<loss>(why) == loss::refused && error != 0)
      found.because += ": " + std::string(std::strerror(static_cast<int>(error)));
  }
  return found;
}

// In the order in which the processes began: the names start with the time.
std::vector<std::string> raw_files(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".raw") found.push_back(entry.path());
  if (error) throw trace_error(folder, error.message());
  std::sort(found.begin(), found.end());
  return found;
}

// Bytes that the file takes on the disk: it is longer than it is full.
std::uint64_t bytes_of_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
}

// All zero if there is no control file.
std::unique_ptr<raw_control> read_control(const std::string& folder) {
  auto control = std::make_unique<raw_control>();
  std::ifstream(folder + "/control", std::ios::binary)
      .read(reinterpret_cast<char*>(control.get()), sizeof *control);
  return control;
}

std::uint64_t rate_measured_now() {
  static const double rate = probes::tick_clock::calibrate().ticks_per_second();
  return static_cast<std::uint64_t>(std::llround(rate));
}

// The rate is measured between the moments of the recording, if they are far enough apart.
std::uint64_t ticks_per_second(const raw_process::description& of) {
  if (of.stamps == stamps::tickets) return 0;
  const std::uint64_t ns = of.latest.monotonic_ns - of.begin.monotonic_ns;
  if (ns < long_enough_ns) return rate_measured_now();
  const auto ticks = static_cast<double>(of.latest.stamp - of.begin.stamp);
  return static_cast<std::uint64_t>(std::llround(ticks * 1e9 / static_cast<double>(ns)));
}

properties describe(const raw_process::description& of, bool stacks) {
  properties out;
  out.set("pid", of.pid);
  out.set("parent_pid", of.parent_pid);
  out.set("forked", of.forked ? 1 : 0);
  out.set("program", of.program);
  out.set("executable", of.executable);
  out.set("arguments", of.arguments);
  out.set("allocator", of.allocator);
  out.set("stamps", of.stamps == stamps::tickets ? "tickets" : "tsc");
  out.set("ticks_per_second", ticks_per_second(of));
  out.set("start_ticks", of.begin.stamp);
  out.set("start_ns", of.begin.monotonic_ns);
  out.set("start_unix_ns", of.begin.unix_ns);
  out.set("stacks", stacks ? "full" : "caller");
  return out;
}

properties summarise(const raw_process& process, const verdict& counts, std::size_t sites) {
  properties out = summary_of(counts);
  out.set("threads", process.threads().size());
  out.set("sites", sites);
  out.set("ended", process.of().ended ? 1 : 0);
  if (const std::uint64_t instructions = process.of().instructions; instructions != 0)
    out.set("instructions", instructions);
  if (const std::uint64_t threads = process.of().uncounted_threads; threads != 0)
    out.set("uncounted_threads", threads);
  const lost_calls lost = lost_calls_of(process.of().lost, process.of().error);
  out.set("lost", lost.calls);
  out.set("lost_because", lost.because);
  return out;
}

lost_calls lost_without_file(const raw_control& control) {
  std::uint64_t by_reason[losses];
  for (std::size_t why = 0; why < losses; ++why)
    by_reason[why] = control.without_file[why].load(std::memory_order_relaxed);
  return lost_calls_of(by_reason, control.error.load(std::memory_order_relaxed));
}

// The moments at which the memory of a process was sampled: lines "PID NS" of
// python/heaplab/traces/recording.py. None if stamps tell no times.
std::vector<ranges_at_moments::moment> moments_of(const std::string& folder,
                                                  const raw_process::description& of) {
  const double rate = static_cast<double>(ticks_per_second(of)) / 1e9;
  std::vector<ranges_at_moments::moment> found;
  std::ifstream in(folder + "/moments");
  for (std::uint64_t pid, ns; in >> pid >> ns;) {
    if (pid != of.pid || ns < of.begin.monotonic_ns || rate == 0) continue;
    const auto ticks = static_cast<std::uint64_t>(rate * static_cast<double>(ns - of.begin.monotonic_ns));
    found.push_back({of.begin.stamp + ticks, ns});
  }
  return found;
}

// The memory of the program's processes, which python/heaplab/traces/recording.py has sampled from outside.
std::string sampled_memory(const std::string& folder) {
  std::ifstream in(folder + "/memory");
  return {std::istreambuf_iterator<char>(in), {}};
}

// What only the recording as a whole knows: what was lost in processes that have no file, sampled memory.
void add_what_is_of_no_process(properties& to, const raw_control& control, const std::string& folder) {
  const lost_calls lost = lost_without_file(control);
  if (lost.calls != 0) {
    to.set("lost_elsewhere", lost.calls);
    to.set("lost_elsewhere_because", lost.because);
  }
  if (const auto processes = control.filtered.load(std::memory_order_relaxed); processes != 0)
    to.set("filtered_processes", processes);
  if (const std::string memory = sampled_memory(folder); !memory.empty()) to.set("memory", memory);
}

std::string why_nothing_was_recorded(const raw_control& control) {
  const lost_calls lost = lost_without_file(control);
  if (lost.calls != 0) return std::to_string(lost.calls) + " calls were not recorded: " + lost.because;
  if (control.filtered.load(std::memory_order_relaxed) != 0)
    return "the program runs under a filter of system calls (seccomp)";
  return "no process was recorded";
}

// Numbers call sites, each once, also where the file holds a stack twice.
class site_numbers {
public:
  site_numbers(const raw_process& process, const recorded_modules& modules, trace_writer& to)
      : process_(process), modules_(modules), to_(to) {}

  std::uint32_t operator()(const raw_record& record) {
    if (record.site == 0) return 0;
    // Numbers are kept for one meaning of addresses at a time.
    const std::size_t meaning = modules_.has_displaced() ? modules_.snapshot_before(record.stamp) : 0;
    if (std::exchange(meaning_, meaning) != meaning) numbers_.clear();
    std::uint32_t& number = numbers_[record.site];
    if (number == 0) number = number_of(record);
    return number;
  }

  std::size_t size() const { return stacks_.size(); }

private:
  std::uint32_t number_of(const raw_record& record) {
    std::vector<std::uint64_t> stack{record.site};
    if ((record.site & stack_bit) != 0) stack = process_.stack(record.site);
    for (std::uint64_t& address : stack) address = modules_.place(address, record.stamp);
    std::uint32_t& number = stacks_[stack];
    if (number == 0) number = to_.add_site(stack);
    return number;
  }

  const raw_process& process_;
  const recorded_modules& modules_;
  trace_writer& to_;
  std::size_t meaning_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::map<std::vector<std::uint64_t>, std::uint32_t> stacks_;
};

// The blocks that lived when the recording began, by address, each once: a thread that was interrupted within
// a call may have left a second entry.
std::vector<event> lived_blocks(const raw_process& process, site_numbers& sites) {
  std::vector<event> found;
  std::uint64_t begin = process.of().begin.stamp;
  if (!process.threads().empty()) begin = std::min(begin, process.threads().front().first_stamp);
  process.each_lived([&](const raw_record& block) {
    found.push_back({.stamp = begin,
                     .address = address_of(block),
                     .size = block.size,
                     .thread = 0,
                     .site = sites({begin, block.what, block.size, block.site}),
                     .kind = kind_of(block),
                     .alignment_log2 = alignment_of(block)});
  });
  const auto address = [](const event& block) { return block.address; };
  std::ranges::sort(found, {}, address);
  const auto again = std::ranges::unique(found, {}, address);
  found.erase(again.begin(), again.end());
  return found;
}

// `tick` is called now and then.
void finish_process(const raw_process& process, const raw_control& control, trace_writer& to,
                    const std::string& folder, const std::function<void()>& tick, bool first) {
  to.begin_process(describe(process.of(), control.stacks != 0));
  const recorded_modules modules(process.path());
  site_numbers sites(process, modules, to);
  verifier order(process.of().forked || control.begins_late != 0);
  const std::vector<event> lived = lived_blocks(process, sites);
  ranges_at_moments ranges(moments_of(folder, process.of()));
  for (const event& block : lived) {
    order.lived(block);
    ranges.lived(block.address, block.size);
  }
  to.add_lived(lived);
  merged_events events(process, [&sites](const raw_record& record) { return sites(record); });
  for (event e; events.next(e);) {
    order.see(e);
    ranges.see(e);
    to.add(e);
    if (order.counts().events % report_every == 0) tick();
  }
  to.add_modules(modules.code());
  to.add_build_ids(modules.build_ids());
  properties summary = summarise(process, order.counts(), sites.size());
  // After the window of a recording the process may have gone on unrecorded.
  if (const auto& of = process.of(); of.ended && control.begins_late == 0) {
    summary.set("end_ticks", of.latest.stamp);
    summary.set("cpu_ns", of.latest.cpu_ns - of.begin.cpu_ns);
  }
  if (const std::string text = ranges.text(); !text.empty()) summary.set("ranges", text);
  if (first) add_what_is_of_no_process(summary, control, folder);
  to.end_process(summary);
}

}  // namespace

void finish(const std::string& folder, const std::string& file, const progress& report) {
  const std::vector<std::string> found = raw_files(folder);
  std::uint64_t whole = 0;
  for (const std::string& path : found) whole += bytes_of_file(path);
  const std::unique_ptr<raw_control> control = read_control(folder);
  const std::string partial = file + ".partial";
  std::uint32_t processes = 0;
  std::uint64_t done = 0;
  trace_writer to(partial);
  for (const std::string& path : found) {
    try {
      const raw_process process(path);
      if (control->begins_late == 0 || process.reached_recording()) {
        finish_process(process, *control, to, folder, [&] { report(done, whole); }, processes == 0);
        ++processes;
      }
    } catch (const trace_error& error) {
      if (std::string_view(error.what()).starts_with(partial)) throw;
    }
    done += bytes_of_file(path);
    report(done, whole);
  }
  to.close();
  if (processes == 0) {
    std::filesystem::remove(partial);
    throw trace_error(folder, why_nothing_was_recorded(*control));
  }
  std::filesystem::rename(partial, file);
}

}  // namespace heaplab::trace
