// The destination of the results of a run.
#pragma once

#include <string>
#include <string_view>

namespace heaplab::harness {

// "" for nowhere, "-" for standard output, "fd:N" for an open descriptor, otherwise a file. A file is written
// under a temporary name and renamed, so that an earlier result stays until the new one is complete.
class destination {
public:
  // Throws usage_error with the name `option` ("--json") if the destination cannot be written, so that the
  // user learns this before the run. `where` must outlive this object.
  destination(const char* option, const std::string& where);

  bool wanted() const { return file_ >= 0 || !path_.empty(); }
  bool is_standard_output() const;

  // Throws run_error; an earlier file then stays as it was.
  void write(std::string_view text) const;

private:
  const char* option_;
  const std::string& where_;
  std::string path_;  // path of the file to replace, symbolic links followed; empty: write to file_
  int file_ = -1;
};

}  // namespace heaplab::harness
