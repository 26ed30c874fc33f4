// The parts of `heaplab record` and `heaplab trace` that are written in C++. Only heaplab's front end calls
// this program (python/heaplab/traces). An error is one line on standard error and exit status 1; wrong usage
// is 2.
//
//   trace_tool stamps                 prints tsc or tickets: what orders events on this machine
//   trace_tool counters               prints instructions, or why a thread's instructions cannot be counted
//   trace_tool finish FOLDER FILE     makes a trace file, and prints lines DONE WHOLE that tell how far it is
//   trace_tool summary FILE           prints the properties of each process, and what is damaged, as JSON
//   trace_tool events FILE PROCESS    prints the events of a process as CSV, after the blocks that
//                                     lived when its recording began, which thread 0 acquired
//   trace_tool profile FILE PROCESS   prints what a process did with memory as JSON, after lines DONE WHOLE
//   trace_tool habits FILE PROCESS    prints by call site which blocks could be reserved or kept on the stack
//   trace_tool subsystems FILE PROCESS  prints episodes and counts of groups of call sites as JSON; standard
//                                     input has the groups, a line of numbers each
//   trace_tool sites FILE PROCESS     prints its call sites as JSON
//   trace_tool rows FILE WHAT         writes records of all processes: WHAT is events or blocks (rows.h)
//   trace_tool import NAME FILE       makes a trace of standard input, which errors call NAME (import.h)
//   trace_tool make SOURCE FILE       makes a trace of standard input, rows of events (rows.h)
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "probes/json_line.h"
#include "probes/write_whole.h"
#include "trace/file/event_stream.h"
#include "trace/file/trace_error.h"
#include "trace/file/trace_file.h"
#include "trace/finish/counter_access.h"
#include "trace/finish/finish.h"
#include "trace/finish/stamp_test.h"
#include "trace/import/import.h"
#include "trace/profile/block_habits.h"
#include "trace/profile/last_act.h"
#include "trace/profile/profile.h"
#include "trace/profile/profile_json.h"
#include "trace/profile/rows.h"
#include "trace/profile/subsystems.h"

namespace heaplab::trace {
namespace {

void put_properties(probes::json_line& out, const char* name, const properties& of) {
  out.key(name).begin_object();
  for (const auto& [key, value] : of.all()) out.key(key).value(std::string_view(value));
  out.end_object();
}

int print_summary(const std::string& path) {
  trace_file file(path);
  probes::json_line out;
  out.begin_object().key("bytes").value(file.size()).key("machine").value(std::uint64_t{file.machine()});
  out.key("processes").begin_array();
  for (std::uint32_t number = 0; number < file.processes().size(); ++number) {
    // All parts are read, so that all damage is told.
    const site_table sites(file, number);
    each_lived(file, number, [](const event&) {});
    for (const std::string& lines : {file.modules(number), file.build_ids(number), file.names(number)})
      static_cast<void>(lines);
    event_stream events(file, number);
    std::uint64_t intact = 0;
    for (std::size_t some = 0; (some = events.next_frame().size()) != 0;) intact += some;
    const trace_file::process_part& of = file.processes()[number];
    out.begin_object().key("events").value(intact).key("lost_in_file").value(events.lost());
    put_properties(out, "process", of.of);
    put_properties(out, "summary", of.summary);
    out.end_object();
  }
  out.end_array().key("damage").begin_array();
  for (const std::string& line : file.damage()) out.value(std::string_view(line));
  out.end_array().end_object().end_line();
  return probes::write_whole(1, out.text()) == 0 ? 0 : 1;
}

std::uint32_t place_of(const trace_file& file, const std::string& process) {
  const unsigned long number = std::stoul(process);
  if (number >= file.processes().size()) throw trace_error(file.path(), "has no process " + process);
  return static_cast<std::uint32_t>(number);
}

int print_events(const std::string& path, const std::string& process) {
  trace_file file(path);
  const std::uint32_t place = place_of(file, process);
  const site_table sites(file, place);
  event_stream events(file, place);
  std::puts("stamp,thread,kind,address,size,alignment,caller,site");
  const auto print = [&sites](const event& e) {
    const auto frames = sites.frames_of(e.site);
    std::printf("%" PRIu64 ",%u,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u\n", e.stamp, e.thread,
                std::string(name_of(e.kind)).c_str(), e.address, e.size,
                e.alignment_log2 == 0 ? 0 : std::uint64_t{1} << e.alignment_log2,
                frames.empty() ? 0 : frames[0], e.site);
  };
  each_lived(file, place, print);
  for (event e; events.next(e);) print(e);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

void tell(std::uint64_t done, std::uint64_t whole) {
  std::printf("%" PRIu64 " %" PRIu64 "\n", done, whole);
  std::fflush(stdout);
}

int print_profile(const std::string& path, const std::string& process) {
  constexpr std::size_t frames_between_words = 16;
  trace_file file(path);
  const std::uint32_t place = place_of(file, process);
  const trace_file::process_part& part = file.processes()[place];
  profile found(part.of.number("ticks_per_second"), last_act_of(file, place));
  each_lived(file, place, [&found](const event& block) { found.lived(block); });
  event_stream events(file, place);
  std::size_t frames = 0;
  for (auto frame = events.next_frame(); !frame.empty(); frame = events.next_frame()) {
    for (const event& e : frame) found.see(e);
    if (++frames % frames_between_words == 0) tell(events.first() + frame.size(), part.events);
  }
  found.end();
  probes::json_line out;
  put_profile(out, found);
  out.end_line();
  return probes::write_whole(1, out.text()) == 0 ? 0 : 1;
}

int print_habits(const std::string& path, const std::string& process) {
  trace_file file(path);
  event_stream events(file, place_of(file, process));
  block_habits found;
  for (event e; events.next(e);) found.see(e);
  probes::json_line out;
  put_habits(out, found);
  out.end_line();
  return probes::write_whole(1, out.text()) == 0 ? 0 : 1;
}

subsystems::groups read_groups(std::istream& in) {
  subsystems::groups found;
  for (std::string line; std::getline(in, line);) {
    std::istringstream numbers(line);
    auto& group = found.emplace_back();
    for (std::uint32_t site = 0; numbers >> site;) group.push_back(site);
  }
  return found;
}

int print_subsystems(const std::string& path, const std::string& process) {
  trace_file file(path);
  const std::uint32_t place = place_of(file, process);
  subsystems found(read_groups(std::cin));
  for (int pass = 0; pass < 2; ++pass) {
    event_stream events(file, place);
    for (event e; events.next(e);) found.see(e);
    found.end_pass();
  }
  probes::json_line out;
  put_subsystems(out, found);
  out.end_line();
  return probes::write_whole(1, out.text()) == 0 ? 0 : 1;
}

int print_sites(const std::string& path, const std::string& process) {
  trace_file file(path);
  probes::json_line out;
  put_sites(out, file, place_of(file, process));
  out.end_line();
  return probes::write_whole(1, out.text()) == 0 ? 0 : 1;
}

int write_rows(const std::string& path, std::string_view what) {
  trace_file file(path);
  for (std::uint32_t number = 0; number < file.processes().size(); ++number)
    what == "blocks" ? write_block_rows(file, number, stdout) : write_event_rows(file, number, stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

int tell_imported(const imported& found) {
  probes::json_line out;
  out.begin_object().key("source").value(std::string_view(found.source)).key("events").value(found.events);
  out.key("skipped").value(found.skipped).key("cut_off").value(found.cut_off).end_object().end_line();
  return probes::write_whole(1, out.text()) == 0 ? 0 : 1;
}

int make_of_rows(const std::string& source, const std::string& file) {
  return tell_imported(import_events([](event& e) { return read_event_row(stdin, e); }, source, file));
}

int run(int count, char** arguments) {
  const std::string_view command = count > 1 ? arguments[1] : "";
  if (command == "stamps" && count == 2) {
    std::puts(counter_orders_threads() ? "tsc" : "tickets");
    return 0;
  }
  if (command == "counters" && count == 2) {
    const std::string fault = why_not_counted();
    std::puts(fault.empty() ? "instructions" : fault.c_str());
    return 0;
  }
  if (command == "finish" && count == 4) {
    finish(arguments[2], arguments[3], tell);
    return 0;
  }
  if (command == "summary" && count == 3) return print_summary(arguments[2]);
  if (command == "events" && count == 4) return print_events(arguments[2], arguments[3]);
  if (command == "profile" && count == 4) return print_profile(arguments[2], arguments[3]);
  if (command == "habits" && count == 4) return print_habits(arguments[2], arguments[3]);
  if (command == "subsystems" && count == 4) return print_subsystems(arguments[2], arguments[3]);
  if (command == "sites" && count == 4) return print_sites(arguments[2], arguments[3]);
  if (command == "rows" && count == 4) return write_rows(arguments[2], arguments[3]);
  if (command == "import" && count == 4) return tell_imported(import_text(0, arguments[2], arguments[3]));
  if (command == "make" && count == 4) return make_of_rows(arguments[2], arguments[3]);
  std::fputs(
      "trace_tool: stamps | counters | finish FOLDER FILE | summary FILE | events FILE PROCESS | "
      "profile FILE PROCESS | habits FILE PROCESS | subsystems FILE PROCESS | sites FILE PROCESS | "
      "rows FILE WHAT | import NAME FILE | make SOURCE FILE\n",
      stderr);
  return 2;
}

}  // namespace
}  // namespace heaplab::trace

int main(int count, char** arguments) {
  try {
    return heaplab::trace::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
