// Usage: guard [NAME=VALUE...] PROGRAM [ARGUMENT...] < PIPE
//
// Runs a test in a session and a temporary folder of its own, with these variables, and leaves nothing behind
// when the test has ended, or when whoever holds the other end of the pipe has closed it or is gone, be it by
// SIGKILL: every process that the test has started is killed, whatever its session, and the folder is
// removed. Ends as the test did, by its exit status or by its signal. Is itself not served by the library
// under test.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "check/ending.h"

namespace {

namespace files = std::filesystem;
using heaplab::check::end;
using heaplab::check::require;
using heaplab::check::wrong_usage;

files::path new_folder() {
  std::string path = files::temp_directory_path() / "heaplab-check-XXXXXX";
  require(mkdtemp(path.data()) != nullptr, "guard: no temporary folder");
  return path;
}

[[noreturn]] void become(char** program, const files::path& folder) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  require(chdir(folder.c_str()) == 0, "guard: the temporary folder is gone");
  for (; *program != nullptr && std::strchr(*program, '=') != nullptr; ++program) putenv(*program);
  execv(*program, program);
  end(heaplab::check::failed, std::strerror(errno));
}

// Until the test has ended or standard input has.
void wait_for(pid_t test) {
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, test, 0));
  pollfd either[] = {{process, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  while (poll(either, std::size(either), -1) < 0 && errno == EINTR) {
  }
}

// Children of children become children of this process when their parents end (PR_SET_CHILD_SUBREAPER).
void kill_all() {
  do {
    std::ifstream children("/proc/thread-self/children");
    for (pid_t child = 0; children >> child;) kill(child, SIGKILL);
  } while (waitpid(-1, nullptr, 0) > 0);
}

[[noreturn]] void end_as(int status) {
  if (WIFEXITED(status)) std::_Exit(WEXITSTATUS(status));
  constexpr rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::signal(WTERMSIG(status), SIG_DFL);
  kill(getpid(), WTERMSIG(status));
  std::_Exit(heaplab::check::failed);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) end(wrong_usage, "usage: guard [NAME=VALUE...] PROGRAM [ARGUMENT...]");
  const files::path folder = new_folder();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t test = fork();
  if (test == 0) become(arguments + 1, folder);
  wait_for(test);
  kill(test, SIGKILL);  // a test that has ended is not reaped yet and keeps its status
  int status = 0;
  waitpid(test, &status, 0);
  kill_all();
  std::error_code ignored;
  files::remove_all(folder, ignored);
  end_as(status);
}
