// Where the JSON line of a run goes.
#pragma once

#include <string>

#include "probes/json_line.h"

namespace heaplab::harness {

// "" nowhere, "-" standard output, "fd:N" an open descriptor, otherwise a file. A file is written beside its
// place and renamed into it, so an earlier result is there until a whole new one has taken its place.
class destination {
public:
  // Throws usage_error if nothing can be written there, before the run. `where` must outlive this.
  explicit destination(const std::string& where);

  bool wanted() const { return file_ >= 0 || !path_.empty(); }
  bool is_standard_output() const;

  // Throws run_error; what a file held before is then still there.
  void write(probes::json_line& json) const;

private:
  const std::string& where_;
  std::string path_;  // of a file to replace, links followed; empty: write to file_
  int file_ = -1;
};

}  // namespace heaplab::harness
