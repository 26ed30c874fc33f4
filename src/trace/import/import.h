// Traces made of what other recorders write, and of events that a program makes up.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trace/raw/event.h"

namespace heaplab::trace {

struct imported {
  std::string source;  // heaptrack or mtrace
  std::uint64_t events = 0;
  std::uint64_t skipped = 0;  // lines that were not understood
  bool cut_off = false;       // the text ended within a line
};

// Reads the text of glibc's mtrace, or of heaptrack's raw or interpreted data (packed by zstd or plain), from
// `descriptor`, and writes `file`, which is replaced when its new content is complete. `name` is what errors
// call the text. Memory: 32 bytes a block that lives, and heaptrack's table of stacks. Throws trace_error.
imported import_text(int descriptor, const std::string& name, const std::string& file);

// Makes `file` of the events that `next` gives until it returns false: their order counts, and stamps, in
// nanoseconds, that do not ascend are raised. `source` is the property of that name. An event that may not
// follow (event_rules.h) is skipped.
imported import_events(const std::function<bool(event&)>& next, const std::string& source,
                       const std::string& file);

}  // namespace heaplab::trace
