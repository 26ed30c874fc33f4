// Children of every kind. Usage: processes fork COUNT | exec | spawn | threads COUNT AT_A_TIME | killed |
// quiet_exit | closed | handler
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

extern char** environ;

namespace {

// The pointer is volatile so that the compiler leaves no call out; and local, since a signal handler calls
// too.
void call(int times) {
  for (int time = 0; time < times; ++time) {
    void* volatile const block = std::malloc(static_cast<std::size_t>(time) + 1);
    std::free(block);
  }
}

int wait_for_all() {
  int status = 0;
  bool well = true;
  while (wait(&status) > 0) well = well && status == 0;
  return well ? 0 : 1;
}

int fork_children(int count) {
  void* const inherited = std::malloc(100);
  for (int child = 0; child < count; ++child) {
    if (fork() == 0) {
      call(50);
      std::free(inherited);
      _exit(0);
    }
    if (child % 50 == 49 && wait_for_all() != 0) return 1;
  }
  std::free(inherited);
  return wait_for_all();
}

int execute(const char* program) {
  call(10);
  char* arguments[] = {const_cast<char*>(program), const_cast<char*>("ended"), nullptr};
  return execve(program, arguments, environ);
}

int spawn(const char* program) {
  pid_t child = 0;
  char* arguments[] = {const_cast<char*>(program), const_cast<char*>("ended"), nullptr};
  call(10);
  if (posix_spawn(&child, program, nullptr, nullptr, arguments, environ) != 0) return 1;
  return wait_for_all();
}

int start_threads(int count, int at_a_time) {
  for (int begun = 0; begun < count; begun += at_a_time) {
    std::vector<std::thread> threads;
    for (int number = 0; number < at_a_time; ++number) threads.emplace_back([] { call(20); });
    for (std::thread& thread : threads) thread.join();
  }
  return 0;
}

int close_all_files() {
  for (int file = 3; file < 1200; ++file) close(file);
  call(100'000);
  return 0;
}

int interrupt() {
  signal(SIGALRM, [](int) { call(1); });
  for (int time = 0; time < 2000; ++time) {
    ualarm(20, 0);
    call(200);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = arguments[1];
  if (what == "fork") return fork_children(std::atoi(arguments[2]));
  if (what == "exec") return execute(arguments[0]);
  if (what == "spawn") return spawn(arguments[0]);
  if (what == "threads" && count == 4) return start_threads(std::atoi(arguments[2]), std::atoi(arguments[3]));
  if (what == "closed") return close_all_files();
  if (what == "handler") return interrupt();
  call(1000);
  if (what == "killed") raise(SIGKILL);
  if (what == "quiet_exit") _exit(3);
  return 0;
}
