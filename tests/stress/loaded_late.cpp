// Usage: loaded_late LIBRARY
//
// Loads a malloc library with dlopen, beside the malloc that serves the program, and uses it from several
// threads. Exit status 0: its blocks held, 1: not, 2: wrong usage.
#include <dlfcn.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "check/blocks.h"

namespace {

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
  for (bool& one : intact) threads.emplace_back([&] { one = works(late); });
  for (std::thread& one : threads) one.join();
  return intact[0] && intact[1] && intact[2] && intact[3];
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fputs("usage: loaded_late LIBRARY\n", stderr), 2;
  void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  late_malloc late;
  find(library, "malloc", late.allocate);
  find(library, "realloc", late.resize);
  find(library, "free", late.release);
  if (late.allocate == &std::malloc) return std::fputs("the program's own malloc\n", stderr), 1;
  // A thread that began before the library was closed may end after it.
  const bool intact = works(late) && works_in_threads(late);
  dlclose(library);
  return intact && works_in_threads(late) ? 0 : 1;
}
