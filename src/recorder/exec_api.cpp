// Notes the programs that the program executes (executed_programs.h).
//
// The C library's functions call each other by hidden names, so each of them is here. What they share with
// the parent, if they run in a child of vfork, is as before when they return or execute.
#include <alloca.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "recorder/executed_programs.h"
#include "recorder/next_symbol.h"
#include "recorder/process_file.h"
#include "recorder/system_call_filters.h"

namespace heaplab::recorder {
namespace {

using words = char* const*;
using actions = const posix_spawn_file_actions_t*;
using attributes = const posix_spawnattr_t*;

constinit next_symbol<int(const char*, words)> next_execv("execv"), next_execvp("execvp");
constinit next_symbol<int(const char*, words, words)> next_execve("execve"), next_execvpe("execvpe");
constinit next_symbol<int(int, words, words)> next_fexecve("fexecve");
constinit next_symbol<int(pid_t*, const char*, actions, attributes, words, words)> next_spawn("posix_spawn"),
    next_spawnp("posix_spawnp");
constinit next_symbol<int(const char*)> next_system("system");
constinit next_symbol<FILE*(const char*, const char*)> next_popen("popen");

// A process that clears its environment before its first call of malloc is recorded all the same.
[[gnu::constructor]] void prepare() {
  look_up(next_execv, next_execvp, next_execve, next_execvpe, next_fexecve, next_spawn, next_spawnp,
          next_system, next_popen);
  prepare_for_programs();
  if (recording_state() == not_begun) begin();
}

void note_open_file(int descriptor, words environment) {
  char name[32], path[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
  const ssize_t length = may_call_system() ? ::readlink(name, path, sizeof path - 1) : -1;
  if (length < 0) return;
  path[length] = '\0';
  note_program(path, environment);
}

// Calls execute(words) with the words of a list that a null ends.
template <class Execute>
int with_words(const char* first, va_list& list, Execute execute) {
  va_list counted;
  va_copy(counted, list);
  std::size_t count = 1;
  while (va_arg(counted, const char*) != nullptr) ++count;
  va_end(counted);
  auto* const all = static_cast<char**>(alloca((count + 1) * sizeof(char*)));
  all[0] = const_cast<char*>(first);
  for (std::size_t at = 1; at <= count; ++at) all[at] = va_arg(list, char*);
  return execute(all);
}

}  // namespace
}  // namespace heaplab::recorder

using namespace heaplab::recorder;

extern "C" {

HEAPLAB_EXPORT int execve(const char* path, words arguments, words environment) noexcept {
  note_program(path, environment);
  return next_execve.get()(path, arguments, environment);
}

HEAPLAB_EXPORT int execv(const char* path, words arguments) noexcept {
  note_program(path, environ);
  return next_execv.get()(path, arguments);
}

HEAPLAB_EXPORT int execvp(const char* name, words arguments) noexcept {
  note_program(name, environ);
  return next_execvp.get()(name, arguments);
}

HEAPLAB_EXPORT int execvpe(const char* name, words arguments, words environment) noexcept {
  note_program(name, environment);
  return next_execvpe.get()(name, arguments, environment);
}

HEAPLAB_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const int failed = with_words(first, list, [=](words all) { return execv(path, all); });
  va_end(list);
  return failed;
}

HEAPLAB_EXPORT int execlp(const char* name, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const int failed = with_words(first, list, [=](words all) { return execvp(name, all); });
  va_end(list);
  return failed;
}

HEAPLAB_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const int failed =
      with_words(first, list, [&](words all) { return execve(path, all, va_arg(list, words)); });
  va_end(list);
  return failed;
}

HEAPLAB_EXPORT int fexecve(int descriptor, words arguments, words environment) noexcept {
  note_open_file(descriptor, environment);
  return next_fexecve.get()(descriptor, arguments, environment);
}

HEAPLAB_EXPORT int posix_spawn(pid_t* child, const char* path, actions before, attributes of, words arguments,
                               words environment) {
  note_program(path, environment);
  return next_spawn.get()(child, path, before, of, arguments, environment);
}

HEAPLAB_EXPORT int posix_spawnp(pid_t* child, const char* name, actions before, attributes of,
                                words arguments, words environment) {
  note_program(name, environment);
  return next_spawnp.get()(child, name, before, of, arguments, environment);
}

// The last two execute a shell.
HEAPLAB_EXPORT int system(const char* command) {
  if (command != nullptr) note_program("/bin/sh", environ);
  return next_system.get()(command);
}

HEAPLAB_EXPORT FILE* popen(const char* command, const char* mode) {
  note_program("/bin/sh", environ);
  return next_popen.get()(command, mode);
}

}  // extern "C"
