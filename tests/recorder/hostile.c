// Programs that take away what a recorder may want to rely on. Usage: hostile closing FILE | leaving CALLS |
// out_of_descriptors | filtered prctl|syscall|unseen | filtered_child PROGRAM
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Thread_local void* volatile kept;

static void call(int times) {
  for (int time = 0; time < times; ++time) {
    kept = malloc((size_t)(time % 64) + 1);
    free(kept);
  }
}

// --- threads that record, beside one that puts a file of its own under every number that becomes free ---

static atomic_int stop;

static void* record(void* unused) {
  call(3000);
  return unused;
}

static void* close_all(void* name) {
  while (!stop) {
    const int own = open(name, O_RDWR);
    for (int number = 3; number < 1024; ++number)
      if (number != own) close(number);
    for (int copies = 0; copies < 30; ++copies) {
      dup(own);
      fcntl(own, F_DUPFD, 900);
    }
    close(own);
  }
  return NULL;
}

static int be_closed(char* name) {
  enum { threads = 6, rounds = 40, loads = 20 };
  pthread_t closer, recorders[threads];
  pthread_create(&closer, NULL, close_all, name);
  for (int round = 0; round < rounds; ++round) {
    for (int number = 0; number < threads; ++number) pthread_create(&recorders[number], NULL, record, NULL);
    // The recorder notes what is mapped before each of these calls. The loader finds nothing to load: it
    // would map the file of the other thread in place of a library.
    for (int time = 0; time < loads; ++time)
      if (dlopen("/nowhere/library.so", RTLD_NOW) != NULL) return 1;
    for (int number = 0; number < threads; ++number) pthread_join(recorders[number], NULL);
    if (dlerror() == NULL) return 2;
    // A child that begins to record while its own descriptors are taken over.
    if (round % 8 != 0) continue;
    const pid_t child = fork();
    if (child == 0) {
      pthread_create(&closer, NULL, close_all, name);
      call(30000);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  stop = 1;
  pthread_join(closer, NULL);
  return 0;
}

// --- a process that the program leaves running ---

static int leave(int calls) {
  if (fork() != 0) return 0;
  setsid();
  usleep(300000);  // the program has ended
  call(calls);
  return 0;
}

// --- a child that at first cannot open files ---

static int run_out(void) {
  const pid_t child = fork();
  if (child == 0) {
    struct rlimit limit, none;
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    call(500);
    setrlimit(RLIMIT_NOFILE, &limit);
    call(50000);
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}

// --- filters of system calls ---

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#else
#define MACHINE AUDIT_ARCH_AARCH64
#endif
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define CALL BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ON(number, action) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)

// Ends the program at every call but those by which it ends itself.
static struct sock_filter strict[] = {
    CALL,
    ON(SYS_exit_group, SECCOMP_RET_ALLOW),
    ON(SYS_exit, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
// Refuses what maps files further.
static struct sock_filter refusing[] = {
    CALL,
    ON(SYS_mremap, SECCOMP_RET_ERRNO | EPERM),
    ON(SYS_madvise, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
// Ends a program that makes a file longer, which few programs do.
static struct sock_filter lenient[] = {
    CALL,
    ON(SYS_ftruncate, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static long call_unseen(long number, long a, long b, const void* c) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register const void* x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#endif
}

static int filter(const char* how) {
  const struct sock_fprog all = {COUNT(strict), strict};
  const struct sock_fprog some = {COUNT(refusing), refusing};
  void* blocks[100];
  for (size_t at = 0; at < COUNT(blocks); ++at) blocks[at] = malloc(at + 1);
  for (size_t at = 0; at < COUNT(blocks); ++at) free(blocks[at]);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 2;
  // A filter that the system refuses leaves the recording as it was.
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0) return 3;
  call(50000);
  if (strcmp(how, "prctl") == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0) return 4;
  if (strcmp(how, "syscall") == 0 && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all) != 0) return 5;
  if (strcmp(how, "unseen") == 0 && call_unseen(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &some) != 0)
    return 6;
  call(400000);
  return 0;
}

static int filter_child(char* program) {
  const struct sock_fprog some = {COUNT(lenient), lenient};
  char* arguments[] = {program, (char*)"ended", NULL};
  call(100);
  const pid_t child = fork();
  if (child == 0) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(2);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &some) != 0) _exit(3);
    execv(program, arguments);
    _exit(4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

int main(int count, char** arguments) {
  const char* const what = arguments[1];
  call(1000);
  if (strcmp(what, "closing") == 0) return be_closed(arguments[2]);
  if (strcmp(what, "leaving") == 0) return leave(atoi(arguments[2]));
  if (strcmp(what, "out_of_descriptors") == 0) return run_out();
  if (strcmp(what, "filtered") == 0) return filter(arguments[2]);
  return count == 3 && strcmp(what, "filtered_child") == 0 ? filter_child(arguments[2]) : 1;
}
