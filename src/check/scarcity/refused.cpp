// Usage: refused [realloc] CALL once|ever [NUMBER]
//
// Runs the program check_frugal, or with realloc check_resized, and refuses a system call for memory: the
// n-th call alone (once) or all from the n-th on (ever), in a new process for each n; with NUMBER only that
// n. CALL any: whichever of them is the n-th. The kernel asks this process before each such call (seccomp's
// user notification), so that the library may make the call in any way. The calls of the library's own start
// count; the calls by which the loader maps the library do not. brk is left out: a failed brk returns no
// error number but the unchanged break. Exit statuses: see ending.h.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "check/amount.h"
#include "check/children.h"
#include "check/ending.h"
#include "check/neighbour.h"

namespace {

using heaplab::check::child_limit_s;
using heaplab::check::end;
using heaplab::check::failed;
using heaplab::check::skipped;

// Every call is refused in turn; in short, each of the first and an evenly spread selection of the others.
struct selection {
  unsigned long first, others;
};
constexpr selection of_frugal{20, 40}, of_resized{80, 80};
constexpr int loader_failed = 127;
// The loader makes this call for the first thread after mapping all libraries and before initialising them.
constexpr unsigned loaded_mark = SYS_set_robust_list;

constexpr unsigned every_call[] = {SYS_mmap, SYS_mremap, SYS_munmap, SYS_madvise, SYS_mprotect};

struct refused_calls {
  std::string_view name;
  std::span<const unsigned> numbers;

  bool include(int number) const {
    return std::any_of(numbers.begin(), numbers.end(),
                       [number](unsigned listed) { return static_cast<int>(listed) == number; });
  }
};
constexpr std::span<const unsigned> all_calls{every_call};
constexpr refused_calls choices[] = {
    {"mmap", all_calls.subspan(0, 1)},     {"mremap", all_calls.subspan(1, 1)},
    {"munmap", all_calls.subspan(2, 1)},   {"madvise", all_calls.subspan(3, 1)},
    {"mprotect", all_calls.subspan(4, 1)}, {"any", all_calls},
};

// Called in the child: makes every such call wait for an answer. Returns the file descriptor for the answers,
// or -1 if the kernel refused.
int have_asked_before(const refused_calls& calls) {
  std::vector<sock_filter> code = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  std::vector<unsigned> asked(calls.numbers.begin(), calls.numbers.end());
  asked.push_back(loaded_mark);
  for (const unsigned number : asked) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(code.size()), code.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

struct refusal {
  const refused_calls& calls;
  unsigned long first;  // number of the first refused call, from 1; 0: none
  bool ever;

  bool strikes(unsigned long count) const { return first != 0 && (ever ? count >= first : count == first); }
};

struct outcome {
  unsigned long calls = 0;
  int status = 0;  // as waitpid returns it
};

// Answers the calls until the program has ended.
void answer(int listener, const refusal& which, outcome& result) {
  bool loaded = false;
  for (;;) {
    pollfd waiting = {listener, POLLIN, 0};
    if (poll(&waiting, 1, -1) < 0 && errno != EINTR) return;
    if ((waiting.revents & POLLIN) == 0) {
      if ((waiting.revents & (POLLHUP | POLLERR)) != 0) return;
      continue;
    }
    seccomp_notif asked = {};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) continue;
    seccomp_notif_resp said = {};
    said.id = asked.id;
    loaded = loaded || asked.data.nr == static_cast<int>(loaded_mark);
    const bool counts = loaded && which.calls.include(asked.data.nr);
    if (counts && which.strikes(++result.calls))
      said.error = -ENOMEM;
    else
      said.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &said);
  }
}

outcome run(char* program, const refusal& which) {
  int to_parent[2], to_child[2];
  if (pipe2(to_parent, O_CLOEXEC) != 0 || pipe2(to_child, O_CLOEXEC) != 0) end(skipped, "no pipes");
  const pid_t child = fork();
  if (child == 0) {
    alarm(child_limit_s);
    const int listener = have_asked_before(which.calls);
    char go = 0;
    char* const words[] = {program, nullptr};
    if (write(to_parent[1], &listener, sizeof listener) < 0 || read(to_child[0], &go, 1) < 0) _exit(1);
    execv(program, words);
    _exit(loader_failed);
  }
  int theirs = -1;
  if (read(to_parent[0], &theirs, sizeof theirs) < 0) theirs = -1;
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  const auto listener = static_cast<int>(syscall(SYS_pidfd_getfd, process, theirs, 0));
  if (theirs < 0 || listener < 0) end(skipped, "seccomp does not let this process answer for another here");
  outcome result;
  if (write(to_child[1], "", 1) == 1) answer(listener, which, result);
  waitpid(child, &result.status, 0);
  for (const int file : {to_parent[0], to_parent[1], to_child[0], to_child[1], process, listener})
    close(file);
  return result;
}

// Ends the program: each further case would hang for as long.
[[noreturn]] void end_hung(const refusal& which) {
  char text[100];
  std::snprintf(text, sizeof text, "%s number %lu refused %s: no end within %u s", which.calls.name.data(),
                which.first, which.ever ? "and all after it" : "alone", child_limit_s);
  end(failed, text);
}

bool lives_with(char* program, const refusal& which) {
  const int status = run(program, which).status;
  if (status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == loader_failed)) return true;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) end_hung(which);
  std::fprintf(stderr, "%.*s number %lu refused %s: %s %d\n", static_cast<int>(which.calls.name.size()),
               which.calls.name.data(), which.first, which.ever ? "and all after it" : "alone",
               WIFSIGNALED(status) ? "killed by signal" : "exit status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  return false;
}

bool lives_with_each(char* program, const refused_calls& calls, bool ever, const selection& chosen) {
  const outcome whole = run(program, {calls, 0, false});
  if (whole.status != 0) end(failed, "fails with nothing refused");
  const unsigned long step = heaplab::check::is_short() ? std::max(1UL, whole.calls / chosen.others) : 1;
  unsigned long refusals = 0, survived = 0;
  for (unsigned long n = 1; n <= whole.calls; n += n < chosen.first ? 1 : step, ++refusals)
    survived += lives_with(program, {calls, n, ever}) ? 1 : 0;
  std::printf(R"({"says":"lives with %lu of %lu refusals","figures":{"refusals":%lu,"survived":%lu}})"
              "\n",
              survived, refusals, refusals, survived);
  return survived == refusals;
}

}  // namespace

int main(int count, char** arguments) {
  const bool resizes = count > 1 && arguments[1] == std::string_view("realloc");
  char** const words = arguments + (resizes ? 2 : 1);
  const int left = count - static_cast<int>(words - arguments);
  const std::string_view span = left > 1 ? words[1] : "";
  const unsigned long number = left == 3 ? std::strtoul(words[2], nullptr, 10) : 0;
  heaplab::check::neighbour program(arguments[0], resizes ? "check_resized" : "check_frugal");
  for (const refused_calls& calls : choices) {
    if (left < 2 || left > 3 || calls.name != words[0] || (span != "once" && span != "ever")) continue;
    const bool ever = span == "ever";
    const bool lives = number > 0
                           ? lives_with(program.path(), {calls, number, ever})
                           : lives_with_each(program.path(), calls, ever, resizes ? of_resized : of_frugal);
    return lives ? 0 : failed;
  }
  return std::fputs("usage: refused [realloc] mmap|mremap|munmap|madvise|mprotect|any once|ever [NUMBER]\n",
                    stderr),
         heaplab::check::wrong_usage;
}
