// Blocks whose size tells by what calls they were acquired. Usage: call_stacks [elsewhere | handler | fault]
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#if defined(__x86_64__)
// read_nowhere faults at its first instruction. An unwinder that looks up the address before it, as of a
// return address, gets the frame of before_fault, whose rule for the caller is wrong there.
asm(R"(
    .pushsection .text
    .type before_fault, @function
before_fault:
    .cfi_startproc
    .cfi_def_cfa_offset 64
    ud2
    .cfi_endproc
    .size before_fault, . - before_fault
    .type read_nowhere, @function
read_nowhere:
    .cfi_startproc
    movl 0, %eax
    ret
    .cfi_endproc
    .size read_nowhere, . - read_nowhere
    .popsection
)");
extern "C" void read_nowhere();
#endif

namespace {

thread_local void* volatile kept;

// The empty statements keep calls from becoming jumps.
#define STAY asm volatile("")

[[gnu::noinline]] void leaf(std::size_t size) {
  kept = std::malloc(size);
  std::free(kept);
  STAY;
}

[[gnu::noinline]] void left(std::size_t size) {
  leaf(size);
  STAY;
}

[[gnu::noinline]] void right(std::size_t size) {
  leaf(size);
  STAY;
}

[[gnu::noinline]] void recurse(std::size_t depth, std::size_t size) {
  if (depth == 0)
    leaf(size);
  else
    recurse(depth - 1, size);
  STAY;
}

// The compiler aligns the stack, moves the stack pointer by what only the run tells, and stores where the
// stack was.
[[gnu::noipa]] void aligned(std::size_t size, std::size_t more) {
  alignas(64) volatile char room[64];
  auto* const moving = static_cast<volatile char*>(__builtin_alloca(more));
  room[more] = 1;
  moving[0] = room[more];
  leaf(size);
  STAY;
}

[[gnu::noinline]] void call_all() {
  for (std::size_t round = 0; round < 500; ++round) {
    left(10'001);
    right(10'002);
    recurse(round % 50, 20'000 + round % 50);
    aligned(10'003, 32);
  }
  STAY;
}

// On a stack that no thread was started with, as near to that of the thread as the system maps it.
void call_elsewhere() {
  constexpr std::size_t bytes = 1 << 18;
  static ucontext_t here, there;
  getcontext(&there);
  there.uc_stack.ss_sp = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  there.uc_stack.ss_size = bytes;
  there.uc_link = &here;
  makecontext(&there, call_all, 0);
  swapcontext(&here, &there);
}

void call_in_handler(int flags) {
  struct sigaction action{};
  action.sa_handler = [](int) { call_all(); };
  action.sa_flags = flags;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
}

void call_in_handler_elsewhere() {
  static char stack[1 << 18];
  const stack_t alternative{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&alternative, nullptr);
  call_in_handler(SA_ONSTACK);
}

#if defined(__x86_64__)
[[gnu::noinline]] void cause_fault() {
  read_nowhere();
  STAY;
}

void call_in_handler_of_fault() {
  struct sigaction action{};
  action.sa_handler = [](int) {
    leaf(10'001);
    std::exit(0);
  };
  sigaction(SIGSEGV, &action, nullptr);
  cause_fault();
}
#else
void call_in_handler_of_fault() {}
#endif

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "fault") == 0) return call_in_handler_of_fault(), 1;
  if (count > 1 && std::strcmp(words[1], "handler") == 0) return call_in_handler(0), 0;
  if (count > 1) {
    call_elsewhere();
    call_in_handler_elsewhere();
    std::thread(call_elsewhere).join();
    return 0;
  }
  call_all();
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number) threads.emplace_back(call_all);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
