// Runs a command line through the shell and keeps what it said.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace heaplab::testing {

struct outcome {
  int status = -1;     // exit status, or 128 + signal
  std::string output;  // standard output; add 2>&1 for both
};

inline outcome run_command(const std::string& command) {
  outcome result;
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  for (std::size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    result.output.append(buffer.data(), got);
  const int status = ::pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace heaplab::testing
