// Allocates at every point in the life of a program at which C++ and POSIX permit it: before main, in
// constructors, while threads end, after they have ended, in destructors, at exit. Exit status 0: all blocks
// kept their contents.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/atomic.h"
#include "check/blocks.h"
#include "check/ending.h"

namespace {

using heaplab::check::end;
using heaplab::check::failed;
using heaplab::check::require;
using heaplab::testing::fill;
using heaplab::testing::holds;

constinit heaplab::atomic<unsigned> visits = 0;  // relaxed throughout: a count

// Takes over a block that was made at an earlier point in the life of the program, checks it and makes a new
// one.
class relay {
public:
  void renew_block() {
    visits.fetch_add(1, std::memory_order_relaxed);
    require(block_ == nullptr || holds(block_, size_, seed_), "contents lost");
    std::free(block_);
    size_ = 40U << ++seed_ % 12;
    block_ = std::malloc(size_);
    require(block_ != nullptr, "a block is refused at this point of life");
    fill(block_, size_, seed_);
  }

private:
  void* block_ = nullptr;
  std::size_t size_ = 0;
  unsigned seed_ = 0;
};

constinit relay process;

void before_constructors(int, char**, char**) {
  process.renew_block();
}
[[gnu::section(".preinit_array"), gnu::used]] auto* const preinit = before_constructors;

[[gnu::constructor(101)]] void first_constructor() {
  process.renew_block();
}

[[gnu::destructor(101)]] void last_destructor() {
  process.renew_block();
  constexpr unsigned all = 21;
  if (const unsigned seen = visits.load(std::memory_order_relaxed); seen != all) {
    char text[64];
    const int length = std::snprintf(text, sizeof text, "%u of %u points of life", seen, all);
    if (length > 0) end(failed, text);
  }
}

struct global {
  global() noexcept { process.renew_block(); }
  ~global() { process.renew_block(); }
} global_object;

// C++ destroys this object while its thread ends; the heap's own thread data may already be gone by then.
struct thread_object {
  relay mine;
  ~thread_object() { mine.renew_block(); }
};
thread_local thread_object of_thread;

// A key destructor that sets its key again, so that POSIX calls it as often as possible: also after the
// heap's own destructor.
pthread_key_t key;
void* const mark = &key;

void at_thread_end(void*) {
  static thread_local relay mine;
  mine.renew_block();
  pthread_setspecific(key, mark);
}

void run_threads() {
  pthread_key_create(&key, at_thread_end);
  for (int i = 0; i < 2; ++i) {
    std::string* made = nullptr;
    std::thread([&] {
      of_thread.mine.renew_block();
      pthread_setspecific(key, mark);
      made = new std::string(1000, 'x');
    }).join();
    require(*made == std::string(1000, 'x'), "contents of an ended thread are lost");
    delete made;
  }
  pthread_key_delete(key);
}

}  // namespace

int main() {
  process.renew_block();
  std::atexit([] { process.renew_block(); });
  run_threads();
  of_thread.mine.renew_block();
  // The thread is still running when the process ends.
  std::thread([] {
    std::vector<void*> mine(100);
    for (;;)
      for (void*& memory : mine) {
        std::free(memory);
        memory = std::malloc(100);
      }
  }).detach();
  return 0;
}
