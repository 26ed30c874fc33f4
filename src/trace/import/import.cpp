#include "trace/import/import.h"

#include <filesystem>
#include <string_view>

#include "trace/file/trace_error.h"
#include "trace/file/trace_writer.h"
#include "trace/import/heaptrack_lines.h"
#include "trace/import/imported_process.h"
#include "trace/import/mtrace_lines.h"
#include "trace/import/text_lines.h"

namespace heaplab::trace {

namespace {

void end(imported_process& process, imported& found) {
  process.end(found.skipped);
  found.events = process.counts().events;
}

template <class Lines>
void read_all(text_lines& text, Lines& lines, imported& found) {
  for (std::string_view line; text.next(line);) found.skipped += lines.add(line) ? 0 : 1;
  end(lines.process(), found);
  found.cut_off = text.cut_off();
}

// `fill` writes the frames. `file` is replaced when they are complete.
template <class Fill>
void write_trace(const std::string& file, Fill fill) {
  const std::string partial = file + ".partial";
  try {
    trace_writer to(partial);
    fill(to);
    to.close();
  } catch (...) {
    std::error_code none;
    std::filesystem::remove(partial, none);
    throw;
  }
  std::filesystem::rename(partial, file);
}

properties of_source(const std::string& source) {
  properties of;
  of.set("source", source);
  of.set("stamps", "clock");
  of.set("ticks_per_second", 1'000'000'000);
  of.set("start_ticks", 0);
  return of;
}

}  // namespace

imported import_text(int descriptor, const std::string& name, const std::string& file) {
  text_lines text(descriptor, name);
  std::string_view line;
  const bool begun = text.next(line);
  if (!begun && text.is_within_frame()) throw trace_error(name, "is cut off before its first line");
  if (!begun || !(mtrace_lines::begins(line) || heaptrack_lines::begins(line)))
    throw trace_error(name, "is neither a trace of heaplab nor the output of heaptrack or mtrace");
  imported found;
  write_trace(file, [&](trace_writer& to) {
    if (heaptrack_lines::begins(line)) {
      found.source = "heaptrack";
      heaptrack_lines lines(to, line, name);
      read_all(text, lines, found);
    } else {
      found.source = "mtrace";
      mtrace_lines lines(to);
      lines.add(line);
      read_all(text, lines, found);
    }
  });
  return found;
}

imported import_events(const std::function<bool(event&)>& next, const std::string& source,
                       const std::string& file) {
  imported found{.source = source};
  write_trace(file, [&](trace_writer& to) {
    imported_process process(to, of_source(source));
    for (event e; next(e);) {
      process.reach(e.stamp);
      found.skipped += process.add(e) ? 0 : 1;
    }
    end(process, found);
  });
  return found;
}

}  // namespace heaplab::trace
