// executes PROGRAM HOW: a child executes the program with a cleared environment, by the function that HOW
// names; `kept`: with the environment as it is.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char* none[] = {NULL};

static int is(const char* how, const char* name) {
  return strcmp(how, name) == 0;
}

// In the child: returns if it fails. What searches gets the name alone.
static void execute(char* path, const char* how) {
  char* words[] = {path, NULL};
  char* name = strrchr(path, '/') + 1;
  if (is(how, "kept")) execv(path, words);
  if (is(how, "execve") || is(how, "vfork")) execve(path, words, none);
  if (is(how, "execle")) execle(path, path, NULL, none);
  if (is(how, "fexecve")) fexecve(open(path, O_RDONLY | O_CLOEXEC), words, none);
  if (is(how, "execvpe")) execvpe(name, words, none);
  if (clearenv() != 0) return;
  if (is(how, "execv")) execv(path, words);
  if (is(how, "execl")) execl(path, path, NULL);
  if (setenv("PATH", "/usr/local/bin:.", 1) != 0) return;
  if (is(how, "execvp")) execvp(name, words);
  if (is(how, "execlp")) execlp(name, path, NULL);
  if (is(how, "system")) exit(system(path));
  if (is(how, "popen")) exit(pclose(popen(path, "r")));
}

static int start(char* path, const char* how) {
  char* words[] = {path, NULL};
  pid_t child;
  if (is(how, "posix_spawn")) return posix_spawn(&child, path, NULL, NULL, words, none) == 0 ? child : -1;
  if (is(how, "posix_spawnp"))
    return posix_spawnp(&child, strrchr(path, '/') + 1, NULL, NULL, words, none) == 0 ? child : -1;
  child = is(how, "vfork") ? vfork() : fork();
  if (child == 0) {
    execute(path, how);
    _exit(1);
  }
  return child;
}

int main(int count, char** words) {
  int status = 1;
  if (count != 3 || start(words[1], words[2]) < 0 || wait(&status) < 0) return 2;
  return WEXITSTATUS(status);
}
