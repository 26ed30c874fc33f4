#include "trace/import/import.h"

#include <filesystem>
#include <string_view>

#include "trace/file/trace_error.h"
#include "trace/file/trace_writer.h"
#include "trace/import/heaptrack_lines.h"
#include "trace/import/mtrace_lines.h"
#include "trace/import/text_lines.h"

namespace heaplab::trace {

namespace {

template <class Lines>
void read_all(text_lines& text, Lines& lines, imported& found) {
  for (std::string_view line; text.next(line);) found.skipped += lines.add(line) ? 0 : 1;
  lines.process().end(found.skipped);
  found.events = lines.process().counts().events;
  found.cut_off = text.cut_off();
}

}  // namespace

imported import_text(int descriptor, const std::string& name, const std::string& file) {
  text_lines text(descriptor, name);
  std::string_view line;
  const bool begun = text.next(line);
  if (!begun && text.is_within_frame()) throw trace_error(name, "is cut off before its first line");
  if (!begun || !(mtrace_lines::begins(line) || heaptrack_lines::begins(line)))
    throw trace_error(name, "is neither a trace of heaplab nor the output of heaptrack or mtrace");
  const std::string partial = file + ".partial";
  imported found;
  try {
    trace_writer to(partial);
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
    to.close();
  } catch (...) {
    std::error_code none;
    std::filesystem::remove(partial, none);
    throw;
  }
  std::filesystem::rename(partial, file);
  return found;
}

}  // namespace heaplab::trace
