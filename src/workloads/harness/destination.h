// Where what a run found goes.
#pragma once

#include <string>
#include <string_view>

namespace heaplab::harness {

// "" nowhere, "-" standard output, "fd:N" an open descriptor, otherwise a file. A file is written beside its
// place and renamed into it, so an earlier result is there until a whole new one has taken its place.
class destination {
public:
  // Throws usage_error, naming `option` ("--json"), if nothing can be written there, before the run. `where`
  // must outlive this.
  destination(const char* option, const std::string& where);

  bool wanted() const { return file_ >= 0 || !path_.empty(); }
  bool is_standard_output() const;

  // Throws run_error; what a file held before is then still there.
  void write(std::string_view text) const;

private:
  const char* option_;
  const std::string& where_;
  std::string path_;  // of a file to replace, links followed; empty: write to file_
  int file_ = -1;
};

}  // namespace heaplab::harness
