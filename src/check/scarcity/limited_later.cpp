// Usage: limited_later WAY
//
// Limits the address space of the process to 1 GiB (RLIMIT_AS) after it has allocated, and goes on: starts a
// thread, loads a library, allocates large blocks and small ones. WAY is how the limit is set:
//
//   call     by setrlimit; a thread is started at once
//   unseen   by the bare system call, as another process or a language without libc would set the limit. The
//            malloc library learns of the limit only by a refusal, so that large blocks come first here
//
// Exit status 0: everything was served, 1: something was not (a line says what), 2: wrong usage.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "check/frugal_work.h"

namespace {

using heaplab::check::require;
using heaplab::check::use_up;
using heaplab::testing::fill;
using heaplab::testing::holds;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t limit = 1024 * mebibyte;

void set_limit(bool unseen, rlim_t bytes) {
  const rlimit wanted{bytes, RLIM_INFINITY};
  const long done =
      unseen ? syscall(SYS_prlimit64, 0, RLIMIT_AS, &wanted, nullptr) : setrlimit(RLIMIT_AS, &wanted);
  require(done == 0, "the limit cannot be set");
}

void take(std::size_t size) {
  void* const block = std::malloc(size);
  require(block != nullptr, "a block is refused");
  static_cast<char*>(block)[size - 1] = 1;
  std::free(block);
}

void start_thread() {
  pthread_t thread;
  const auto work = [](void*) -> void* { return take(100), take(100000), nullptr; };
  require(pthread_create(&thread, nullptr, work, nullptr) == 0, "a thread is refused");
  pthread_join(thread, nullptr);
}

void run(bool unseen) {
  std::vector<void*> before;
  for (std::size_t size = 16; size < 8 * mebibyte; size += size / 2) {
    before.push_back(std::malloc(size));
    fill(before.back(), size, static_cast<unsigned>(before.size()));
  }
  set_limit(unseen, limit);
  if (!unseen) start_thread();
  take(10 * mebibyte);
  take(300 * mebibyte);
  start_thread();
  require(dlopen("libresolv.so.2", RTLD_NOW) != nullptr, "a library is refused");
  for (const std::size_t size : {2000U, 20000U, 300000U})
    require(use_up(size, limit / 8) >= limit / 8,
            "less than an eighth of the limit is given in small blocks");
  start_thread();
  set_limit(unseen, RLIM_INFINITY);
  require(use_up(2000, limit / 4) >= limit / 4, "no more is given than before the limit was lifted");
  unsigned seed = 0;
  for (std::size_t size = 16; size < 8 * mebibyte; size += size / 2) {
    require(holds(before[seed], size, seed + 1), "contents lost");
    std::free(before[seed++]);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view way = count == 2 ? arguments[1] : "";
  if (way != "call" && way != "unseen") return std::fputs("usage: limited_later call|unseen\n", stderr), 2;
  run(way == "unseen");
  return 0;
}
