// Loads the library under test (HEAPLAB_LIBRARY_UNDER_TEST) with dlopen, while another malloc serves the
// program, and uses the library from several threads. Exit status 0: its blocks kept their contents, 1: they
// did not.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "check/blocks.h"
#include "check/ending.h"
#include "probes/thread_team.h"

namespace {

using heaplab::check::end;
using heaplab::check::failed;
using heaplab::check::skipped;
using heaplab::testing::fill;
using heaplab::testing::holds;

struct late_malloc {
  void* (*allocate)(std::size_t);
  void* (*resize)(void*, std::size_t);
  void (*release)(void*);
};

template <class Function>
void find(void* library, const char* name, Function*& result) {
  result = reinterpret_cast<Function*>(dlsym(library, name));
}

bool works(const late_malloc& late) {
  std::vector<void*> blocks(3000);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = late.allocate(i);
    if (blocks[i] == nullptr) end(failed, "a block is refused");
    fill(blocks[i], i, static_cast<unsigned>(i));
    if (i % 5 == 0) blocks[i] = late.resize(blocks[i], i * 2 + 1);
  }
  bool intact = true;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    intact = intact && holds(blocks[i], i, static_cast<unsigned>(i));
    late.release(blocks[i]);
  }
  return intact;
}

bool works_in_threads(const late_malloc& late) {
  bool intact[4] = {};
  std::vector<std::thread> threads;
  for (bool& worked : intact) threads.emplace_back([&] { worked = works(late); });
  for (std::thread& thread : threads) thread.join();
  return intact[0] && intact[1] && intact[2] && intact[3];
}

// The library's state of a thread must still exist when the thread ends.
void close_before_a_user_ends(void* library, const late_malloc& late) {
  heaplab::probes::barrier used(2), closed(2);
  std::thread user([&] {
    works(late);
    used.wait();
    closed.wait();
  });
  used.wait();
  dlclose(library);
  closed.wait();
  user.join();
}

// Starts the program again without LD_PRELOAD: preloaded, the library under test would already serve the
// program.
void begin_without_it(char** arguments) {
  if (std::getenv("LD_PRELOAD") == nullptr) return;
  unsetenv("LD_PRELOAD");
  execv("/proc/self/exe", arguments);
}

}  // namespace

int main(int, char** arguments) {
  const char* const file = std::getenv("HEAPLAB_LIBRARY_UNDER_TEST");
  if (file == nullptr) end(skipped, "the C library's own malloc is there always");
  begin_without_it(arguments);
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) end(failed, dlerror());
  late_malloc late;
  find(library, "malloc", late.allocate);
  find(library, "realloc", late.resize);
  find(library, "free", late.release);
  if (!works(late) || !works_in_threads(late)) end(failed, "contents lost");
  close_before_a_user_ends(library, late);
  return 0;
}
