// The text of glibc's mtrace: a line for each call,
//   @ FILE:(FUNCTION+OFFSET)[ADDRESS] SIGN BLOCK SIZE
// with SIGN + for an acquisition, - for a release, < and > for both halves of a reallocation, ! for one that
// failed. It tells neither threads nor time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/import/imported_process.h"

namespace heaplab::trace {

class mtrace_lines {
public:
  explicit mtrace_lines(trace_writer& to);

  static bool begins(std::string_view first_line) {
    return first_line == "= Start" || first_line.starts_with("@ ");
  }

  // False: the line was not understood.
  bool add(std::string_view line);
  imported_process& process() { return process_; }

private:
  std::uint32_t site_of(std::string_view place);

  imported_process process_;
  std::unordered_map<std::string, std::uint32_t> sites_;
  std::string place_;
};

}  // namespace heaplab::trace
