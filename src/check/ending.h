// The end of a program of the check, from which its runner (python/heaplab/check) learns the outcome:
//
//   exit status 0    the library passed
//   exit status 1    the library failed; the last lines of standard error say why
//   exit status 2    wrong usage
//   exit status 77   skipped: this machine cannot run the test; standard error says why
//   exit status 78   absent: the library has not the functions under test, and need not have them; standard
//                    error names them
//   anything else    the program crashed
//
// A program that reports a figure or an observation writes one line of JSON to standard output: {"says":
// TEXT, "figures": {NAME: NUMBER}}; both members are optional.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace heaplab::check {

inline constexpr int failed = 1, wrong_usage = 2, skipped = 77, absent = 78;

// Ends the process at once. Writes without stdio, because stdio allocates.
[[noreturn]] inline void end(int status, const char* why) {
  if (write(STDERR_FILENO, why, std::strlen(why)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
    std::_Exit(status);
  std::_Exit(status);
}

inline void require(bool holds, const char* what) {
  if (!holds) end(failed, what);
}

}  // namespace heaplab::check
