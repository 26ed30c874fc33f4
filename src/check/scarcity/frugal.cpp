// Usage: frugal [KIND MIB]
//
// Allocates, resizes and frees in two threads and accepts every refusal (frugal_work.h). With KIND, the
// program runs under a limit of MIB mebibytes and uses the limit up, twice: some memory must be served, and
// the second time as much again.
//
//   address_space   RLIMIT_AS, from the first instruction of the process on
//   data            RLIMIT_DATA, from the first instruction of the process on
//   locked          RLIMIT_MEMLOCK, with all later memory locked (mlockall)
//
// Exit statuses: see ending.h.
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "check/frugal_work.h"

namespace {

using namespace heaplab::check;

int run_limited(std::size_t limit) {
  const std::size_t first = use_up(2000);
  // An eighth of the limit is enough: an allocator may spread its blocks over the address space.
  require(first >= limit / 8, "less than an eighth of the limit was given");
  require(use_up(2000) >= first / 8 * 7, "what was freed is not given again");
  use_up(300);
  use_up(3000000);
  work_in_two_threads();
  return 0;
}

struct kind {
  std::string_view name;
  decltype(RLIMIT_AS) resource;
};
constexpr kind kinds[] = {{"address_space", RLIMIT_AS}, {"data", RLIMIT_DATA}, {"locked", RLIMIT_MEMLOCK}};

// Runs as a user without privileges, whom the limit of locked memory binds.
int run_locked(std::size_t limit) {
  const rlimit wanted{limit, limit};
  if (setrlimit(RLIMIT_MEMLOCK, &wanted) != 0 || unshare(CLONE_NEWUSER) != 0 || mlockall(MCL_FUTURE) != 0)
    end(skipped, "memory cannot be locked here");
  return run_limited(limit);
}

int run(const kind& which, std::size_t limit, char** arguments) {
  if (which.resource == RLIMIT_MEMLOCK) return run_locked(limit);
  rlimit now;
  getrlimit(which.resource, &now);
  if (now.rlim_cur == limit) return run_limited(limit);
  // The program executes itself again, because the malloc library must start under the limit.
  now.rlim_cur = limit;
  setrlimit(which.resource, &now);
  execv(arguments[0], arguments);
  end(failed, "the limit leaves no room to begin");
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 1) return work_in_two_threads(), 0;
  const std::size_t limit = count == 3 ? std::strtoul(arguments[2], nullptr, 10) << 20 : 0;
  for (const kind& work : kinds)
    if (limit > 0 && work.name == arguments[1]) return run(work, limit, arguments);
  return std::fputs("usage: frugal [address_space|data|locked MIB]\n", stderr), wrong_usage;
}
