#include "trace/finish.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "probes/tick_clock.h"
#include "trace/merged_events.h"
#include "trace/raw_process.h"
#include "trace/recorded_modules.h"
#include "trace/summary.h"
#include "trace/trace_error.h"
#include "trace/trace_writer.h"
#include "trace/verifier.h"

namespace heaplab::trace {

namespace {

constexpr std::uint64_t long_enough_ns = 1'000'000'000;  // long enough to measure the rate of a counter
constexpr std::uint64_t report_every = 1 << 20;          // events

constexpr const char* reasons[losses] = {"made within another allocation call", "size limit", "disk full",
                                         "no memory to map", "file could not be created"};

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
  if (const std::uint64_t executed = process.of().instructions; executed != 0)
    out.set("instructions", executed);
  if (const std::uint64_t threads = process.of().uncounted_threads; threads != 0)
    out.set("uncounted_threads", threads);
  std::uint64_t lost = 0;
  std::string because;
  for (std::size_t why = 0; why < losses; ++why) {
    if (process.of().lost[why] == 0) continue;
    lost += process.of().lost[why];
    because += (because.empty() ? "" : ", ") + std::string(reasons[why]);
  }
  out.set("lost", lost);
  out.set("lost_because", because);
  return out;
}

// Numbers call sites, each once, also where the file holds a stack twice.
class site_numbers {
public:
  site_numbers(const raw_process& process, trace_writer& to) : process_(process), to_(to) {}

  // `site` is that of a raw_record.
  std::uint32_t operator()(std::uint64_t site) {
    if (site == 0) return 0;
    std::uint32_t& number = numbers_[site];
    if (number == 0) number = number_of((site & stack_bit) != 0 ? process_.stack(site) : std::vector{site});
    return number;
  }

  std::size_t size() const { return stacks_.size(); }

private:
  std::uint32_t number_of(const std::vector<std::uint64_t>& stack) {
    std::uint32_t& number = stacks_[stack];
    if (number == 0) number = to_.add_site(stack);
    return number;
  }

  const raw_process& process_;
  trace_writer& to_;
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
                     .site = sites(block.site),
                     .kind = kind_of(block),
                     .alignment_log2 = alignment_of(block)});
  });
  const auto address = [](const event& block) { return block.address; };
  std::ranges::sort(found, {}, address);
  const auto again = std::ranges::unique(found, {}, address);
  found.erase(again.begin(), again.end());
  return found;
}

void finish_process(const raw_process& process, const raw_control& control, trace_writer& to,
                    const std::function<void()>& tick) {
  to.begin_process(describe(process.of(), control.stacks != 0));
  site_numbers sites(process, to);
  verifier order(process.of().forked || control.begins_late != 0);
  const std::vector<event> lived = lived_blocks(process, sites);
  for (const event& block : lived) order.lived(block);
  to.add_lived(lived);
  merged_events events(process, [&sites](std::uint64_t caller) { return sites(caller); });
  for (event e; events.next(e);) {
    order.see(e);
    to.add(e);
    if (order.counts().events % report_every == 0) tick();
  }
  const recorded_modules modules(process.path());
  to.add_modules(modules.code());
  to.add_build_ids(modules.build_ids());
  to.end_process(summarise(process, order.counts(), sites.size()));
}

}  // namespace

void finish(const std::string& folder, const std::string& file, const progress& report) {
  const std::vector<std::string> found = raw_files(folder);
  std::uint64_t whole = 0;
  for (const std::string& path : found) whole += std::filesystem::file_size(path);
  const std::unique_ptr<raw_control> control = read_control(folder);
  const std::string partial = file + ".partial";
  std::uint32_t processes = 0;
  std::uint64_t done = 0;
  trace_writer to(partial);
  for (const std::string& path : found) {
    try {
      const raw_process process(path);
      if (control->begins_late == 0 || process.reached_recording()) {
        finish_process(process, *control, to, [&] { report(done, whole); });
        ++processes;
      }
    } catch (const trace_error& error) {
      if (std::string_view(error.what()).starts_with(partial)) throw;
    }
    done += std::filesystem::file_size(path);
    report(done, whole);
  }
  to.close();
  if (processes == 0) {
    std::filesystem::remove(partial);
    const std::uint64_t refused = control->without_file.load(std::memory_order_relaxed);
    throw trace_error(folder, refused == 0
                                  ? "no process was recorded"
                                  : std::to_string(refused) + " calls were lost: no file could be made");
  }
  std::filesystem::rename(partial, file);
}

}  // namespace heaplab::trace
