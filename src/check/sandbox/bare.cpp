// Usage: bare proc|sys
//
// Runs check_frugal with an empty /proc or /sys, as in a chroot or a small container. Exit statuses: see
// ending.h.
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "check/ending.h"
#include "check/neighbour.h"

int main(int count, char** arguments) {
  using namespace heaplab::check;
  const std::string_view which = count == 2 ? arguments[1] : "";
  if (which != "proc" && which != "sys") return std::fputs("usage: bare proc|sys\n", stderr), wrong_usage;
  neighbour program(arguments[0], "check_frugal");
  const char* const folder = which == "proc" ? "/proc" : "/sys";
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || mount("none", folder, "tmpfs", 0, nullptr) != 0)
    end(skipped, "the kernel lets this user have no file systems of its own");
  char* const words[] = {program.path(), nullptr};
  execv(program.path(), words);
  end(failed, "check_frugal cannot be executed");
}
