// Usage: sandbox eperm|kill CALL [from_start]
//
// Gives up a system call for good, as a program does that enters a sandbox after its start, or before the
// program is executed, so that the call is not there when the malloc begins: from then on, the call fails
// with EPERM or kills the process. Blocks of every kind must still be served, and malloc_trim must return.
// Exit statuses: see ending.h.
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string_view>

#include "check/frugal_work.h"

namespace {

using namespace heaplab::check;

struct system_call {
  std::string_view name;
  unsigned number;
};
constexpr system_call calls[] = {
    {"madvise", SYS_madvise},     {"process_madvise", SYS_process_madvise},
    {"mremap", SYS_mremap},       {"mincore", SYS_mincore},
    {"mbind", SYS_mbind},         {"sched_getaffinity", SYS_sched_getaffinity},
    {"getcpu", SYS_getcpu},       {"membarrier", SYS_membarrier},
    {"getrandom", SYS_getrandom}, {"openat", SYS_openat},
    {"sysinfo", SYS_sysinfo},     {"clock_gettime", SYS_clock_gettime},
};

bool forbid(unsigned number, unsigned answer) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

// Whether malloc_trim is of the same library as malloc. The C library's would begin the C library's heap.
bool has_trim() {
  Dl_info malloc_in, trim_in;
  return dladdr(reinterpret_cast<void*>(&std::malloc), &malloc_in) != 0 &&
         dladdr(reinterpret_cast<void*>(&malloc_trim), &trim_in) != 0 &&
         malloc_in.dli_fbase == trim_in.dli_fbase;
}

// Large blocks in the first rounds alone: a heap that never frees would else hold gigabytes.
void* take_some(void*) {
  for (unsigned round = 0; round < 20; ++round) {
    const std::size_t largest = std::size_t{1} << (round < 2 ? 26 : 18);
    for (std::size_t size = 16; size <= largest; size *= 2) {
      auto* const block = static_cast<char*>(std::malloc(size));
      require(block != nullptr, "a block is refused");
      block[0] = block[size - 1] = 1;
      auto* const larger = static_cast<char*>(std::realloc(block, size + size / 2));
      require(larger != nullptr, "a block is refused to grow");
      require(larger[0] == 1 && larger[size - 1] == 1, "contents lost");
      std::free(larger);
    }
    if (has_trim()) malloc_trim(0);
  }
  return nullptr;
}

// First in another thread. The program brings the thread's stack, because the C library uses some of the
// forbidden calls to allocate and clear a stack.
int work_in_threads() {
  static char stack[1 << 20];
  pthread_attr_t attributes;
  pthread_t other;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, sizeof stack);
  require(pthread_create(&other, &attributes, take_some, nullptr) == 0, "a thread is refused");
  pthread_join(other, nullptr);
  work_in_two_threads(&attributes);
  take_some(nullptr);
  return 0;
}

constexpr char inside[] = "inside";

[[noreturn]] void begin_in_sandbox(char* name) {
  char inside_word[sizeof inside];
  std::copy(std::begin(inside), std::end(inside), inside_word);
  char* const words[] = {name, inside_word, nullptr};
  execv("/proc/self/exe", words);
  end(failed, "the program cannot be executed");
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && arguments[1] == std::string_view(inside)) return work(0), take_some(nullptr), 0;
  const std::string_view way = count >= 3 ? arguments[1] : "";
  const bool from_start = count == 4 && arguments[3] == std::string_view("from_start");
  if ((way == "eperm" || way == "kill") && (count == 3 || from_start)) {
    const unsigned answer = way == "kill" ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
    for (const system_call& call : calls) {
      if (call.name != arguments[2]) continue;
      if (!forbid(call.number, answer)) end(skipped, "the kernel has no seccomp filters here");
      if (from_start) begin_in_sandbox(arguments[0]);
      return work_in_threads();
    }
  }
  return std::fputs("usage: sandbox eperm|kill CALL [from_start]\n", stderr), wrong_usage;
}
