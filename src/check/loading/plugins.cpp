// Loads and unloads libraries again and again while other threads allocate. The loader allocates under its
// own lock, for example the thread-local data of a thread that touches a library for the first time. Exit
// status 0: the heap held.
#include <dlfcn.h>

#include <cstdlib>
#include <iterator>
#include <thread>
#include <vector>

#include "base/atomic.h"
#include "check/amount.h"
#include "check/blocks.h"
#include "check/ending.h"

namespace {

using heaplab::check::require;
using heaplab::testing::fill;
using heaplab::testing::holds;

// Libraries found on most Debian systems; a missing one is skipped.
constexpr const char* names[] = {"libresolv.so.2", "libcrypt.so.1", "libz.so.1",   "libnss_dns.so.2",
                                 "libutil.so.1",   "libnsl.so.1",   "libgomp.so.1"};

heaplab::atomic<bool> done = false;  // relaxed throughout: publishes nothing but itself

void allocate(unsigned seed) {
  std::vector<void*> blocks(200);
  while (!done.load(std::memory_order_relaxed)) {
    for (std::size_t i = 0; i < blocks.size(); ++i) fill(blocks[i] = std::malloc(i * 9 + 1), i * 9 + 1, seed);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      require(holds(blocks[i], i * 9 + 1, seed), "contents lost while libraries were loaded");
      std::free(blocks[i]);
    }
  }
}

}  // namespace

int main() {
  std::thread thread(allocate, 1), other(allocate, 2);
  unsigned loaded = 0;
  for (unsigned round = 0; round < heaplab::check::rounds(3000); ++round) {
    void* const library = dlopen(names[round % std::size(names)], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    ++loaded;
    std::free(std::malloc(5000));
    dlclose(library);
  }
  done.store(true, std::memory_order_relaxed);
  thread.join();
  other.join();
  if (loaded == 0) heaplab::check::end(heaplab::check::skipped, "none of the libraries to load is here");
  return 0;
}
