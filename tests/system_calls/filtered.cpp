// Usage: filtered use|start CALL...
//
// Allocates, resizes and frees in two threads under a seccomp filter that kills the process at every system
// call but CALL... and what the program itself cannot do without. The filter begins, for `use`, when both
// threads are there and, for `start`, before the program is loaded.
// Exit status 0: done, 1: a block was refused, 2: wrong usage, 3: the system has no such filter; killed by
// SIGSYS: a call that is not listed.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "check/blocks.h"

namespace {

using heaplab::testing::opaque;

struct call {
  std::string_view name;
  long number;
};

constexpr call known[] = {
    {"clone", SYS_clone},
    {"close_range", SYS_close_range},
    {"futex", SYS_futex},
    {"getpid", SYS_getpid},
    {"madvise", SYS_madvise},
    {"membarrier", SYS_membarrier},
    {"mmap", SYS_mmap},
    {"mprotect", SYS_mprotect},
    {"mremap", SYS_mremap},
    {"munmap", SYS_munmap},
    {"prlimit64", SYS_prlimit64},
    {"process_madvise", SYS_process_madvise},
    {"rt_sigprocmask", SYS_rt_sigprocmask},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"sched_getscheduler", SYS_sched_getscheduler},
    {"write", SYS_write},
};

// A thread blocks its signals and ends with exit, the process with exit_group.
constexpr long own[] = {SYS_exit, SYS_exit_group};
constexpr unsigned most_signal_requests = SIG_SETMASK;

// What loads a dynamic program, before its first allocation or after.
constexpr long loading[] = {
    SYS_execve, SYS_brk,        SYS_mmap,  SYS_munmap,          SYS_mprotect,        SYS_openat,
    SYS_read,   SYS_newfstatat, SYS_fstat, SYS_pread64,         SYS_close,           SYS_faccessat,
    SYS_rseq,   SYS_prlimit64,  SYS_futex, SYS_set_robust_list, SYS_set_tid_address, SYS_getrandom,
#ifdef __x86_64__
    SYS_access, SYS_arch_prctl,
#endif
};

#if defined(__x86_64__)
constexpr unsigned machine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned machine = AUDIT_ARCH_AARCH64;
#endif

// For all threads there are.
bool allow_only(const std::vector<long>& numbers) {
  std::vector<sock_filter> filter{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, machine, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const long number : numbers) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  // rt_sigprocmask with a valid request alone: os_pages::is_readable calls it with an invalid one.
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 3));
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, most_signal_requests, 1, 0));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

void* checked(void* block) {
  if (block == nullptr) _exit(1);
  return opaque(block);
}

// Blocks of every size, more than any library keeps; most freed in another order.
void work() {
  constexpr std::size_t count = 40'000;
  static constexpr std::size_t sizes[] = {16, 100, 1000, 3000, 5000};
  auto** const blocks = static_cast<void**>(checked(std::malloc(count * sizeof(void*))));
  for (unsigned round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      blocks[i] = checked(std::malloc(sizes[i % 5]));
      std::memset(blocks[i], 1, sizes[i % 5]);
    }
    for (std::size_t i = 0; i < count; i += 3) blocks[i] = checked(std::realloc(blocks[i], 20'000));
    for (std::size_t i = 0; i < count; ++i) std::free(blocks[i * 7 % count]);
    malloc_trim(0);
  }
  std::free(blocks);
}

// Filled and resized; aligned; more than any library keeps.
void work_on_large_blocks() {
  for (const std::size_t bytes : {3U << 20, 5U << 20, 40U << 20, 100U << 20}) {
    void* block = checked(std::calloc(1, bytes));
    std::memset(block, 1, bytes);
    block = checked(std::realloc(block, bytes * 2));
    block = checked(std::realloc(block, bytes / 2));
    std::free(block);
    std::free(checked(aligned_alloc(std::size_t{16} << 20, bytes)));
  }
}

std::atomic<bool> is_there = false, begun = false, has_worked = false;

// Works once before the first thread does, so that a library whose thread is started by whoever retains much
// memory has it started by another than the first thread, which takes a system call more.
// relaxed: only tells that the thread has begun, that the filter is there, and that the first thread may
// work. Nobody waits by a system call.
void* in_thread(void*) {
  is_there.store(true, std::memory_order_relaxed);
  while (!begun.load(std::memory_order_relaxed)) continue;
  work();
  has_worked.store(true, std::memory_order_relaxed);
  work();
  return nullptr;
}

// The stack is the program's own: the C library would give back the memory of one of its own.
pthread_t begin_thread() {
  static constexpr std::size_t stack_bytes = std::size_t{1} << 20;
  void* const stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, stack_bytes);
  pthread_t result;
  if (pthread_create(&result, &attributes, in_thread, nullptr) != 0) _exit(3);
  while (!is_there.load(std::memory_order_relaxed)) continue;
  return result;
}

int run_in_use(const std::vector<long>& allowed) {
  const pthread_t other = begin_thread();
  if (!allow_only(allowed)) return 3;
  begun.store(true, std::memory_order_relaxed);
  while (!has_worked.load(std::memory_order_relaxed)) continue;
  work();
  while (pthread_tryjoin_np(other, nullptr) != 0) continue;
  work_on_large_blocks();
  _exit(0);
}

int run_from_the_start(char* program, std::vector<long> allowed) {
  allowed.insert(allowed.end(), std::begin(loading), std::end(loading));
  char* const arguments[] = {program, nullptr};
  if (!allow_only(allowed)) return 3;
  execv("/proc/self/exe", arguments);
  return 3;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 1) {  // what `start` executes
    work();
    work_on_large_blocks();
    _exit(0);
  }
  const std::string_view mode = arguments[1];
  std::vector<long> allowed(std::begin(own), std::end(own));
  bool usable = mode == "use" || mode == "start";
  for (int i = 2; i < count; ++i) {
    bool found = false;
    for (const call& candidate : known)
      if (candidate.name == arguments[i]) allowed.push_back(candidate.number), found = true;
    usable = usable && found;
  }
  if (!usable) return std::fputs("usage: filtered use|start CALL...\n", stderr), 2;
  return mode == "use" ? run_in_use(allowed) : run_from_the_start(arguments[0], allowed);
}
