// Usage: idle_process ACTION
//
// Frees so much that the background purge thread is there, then does what the kernel judges by a process's
// threads or does to one thread alone. Prints the number of threads before, and what came of it:
//
//   unshare        "done", or why the kernel refuses the process a user namespace of its own
//   unshare-later  the same when the thread has left, which is awaited for five seconds
//   setuid         "done" if the process is another user's and allocates
//   setuid-busy    "done" if, while the process goes on freeing much, no thread of the former user is left
//                  after some time, which is awaited for five seconds
//   fork           "done" if a child allocates, frees and ends
//   exec           "done" if the process became another program
//   no-clone       "done" if the process allocates and frees under a seccomp filter that kills at clone; the
//                  filter comes before the thread
//
// Exit status 0: done or refused, 1: memory was refused or the process could not be prepared, 2: wrong usage.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

constexpr uid_t nobody = 65'534;

void require(bool holds) {
  if (!holds) std::_Exit(1);
}

void say(const char* what) {
  std::printf("%s\n", what);
}

auto threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// From 16 MiB of retained memory on scalloc has its thread.
void free_much() {
  constexpr std::size_t bytes = 32U << 20;
  auto* const block = static_cast<char*>(std::malloc(bytes));
  require(block != nullptr);
  std::memset(block, 1, bytes);
  std::free(block);
}

void try_unshare() {
  say(unshare(CLONE_NEWUSER) == 0 ? "done" : std::strerror(errno));
}

void unshare_later() {
  for (unsigned waits = 0; waits < 500 && threads() > 1; ++waits) usleep(10'000);
  try_unshare();
}

void change_user() {
  require(setuid(geteuid() == 0 ? nobody : geteuid()) == 0);
  free_much();
  say("done");
}

bool has_thread_of_root() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("Uid:\t0\t")) return true;
  }
  return false;
}

void change_user_and_go_on() {
  require(setuid(geteuid() == 0 ? nobody : geteuid()) == 0);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (has_thread_of_root() && std::chrono::steady_clock::now() < until) free_much();
  say(has_thread_of_root() ? "a thread of the former user is left" : "done");
}

void fork_a_child() {
  const pid_t child = fork();
  if (child == 0) free_much(), _exit(0);
  int status = -1;
  waitpid(child, &status, 0);
  say(status == 0 ? "done" : "the child failed");
}

void execute() {
  execl("/bin/echo", "echo", "done", nullptr);
  say(std::strerror(errno));
}

void forbid_clone() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
  require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  require(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
  free_much();
  say("done");
}

}  // namespace

int main(int count, char** arguments) {
  struct {
    std::string_view name;
    void (*perform)();
  } constexpr actions[] = {{"unshare", try_unshare},  {"unshare-later", unshare_later},
                           {"setuid", change_user},   {"setuid-busy", change_user_and_go_on},
                           {"fork", fork_a_child},    {"exec", execute},
                           {"no-clone", forbid_clone}};
  for (const auto& action : actions) {
    if (count != 2 || action.name != arguments[1]) continue;
    if (action.name != "no-clone") free_much();
    std::printf("%td ", threads());
    std::fflush(stdout);
    return action.perform(), 0;
  }
  return std::fputs("usage: idle_process unshare|unshare-later|setuid|setuid-busy|fork|exec|no-clone\n",
                    stderr),
         2;
}
