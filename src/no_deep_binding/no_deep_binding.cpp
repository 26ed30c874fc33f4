// Preloaded behind a malloc: the program opens no library with RTLD_DEEPBIND. A library opened so looks its
// symbols up in its own dependencies first, takes the C library's malloc and free for the preloaded ones, and
// frees blocks of the one by the other.
//
// RTLD_DEEPBIND also keeps a library from other definitions of the program. A program that needs that does
// not run with this.
#include <dlfcn.h>

#include "base/atomic.h"
#include "base/compiler.h"

namespace {

using opener = void*(const char*, int);

// relaxed: every thread finds the same function.
constinit heaplab::atomic<opener*> next_dlopen{nullptr};

opener* find_next() {
  auto* const found = reinterpret_cast<opener*>(dlsym(RTLD_NEXT, "dlopen"));
  next_dlopen.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace

// The call of the next dlopen is a jump, so that the loader sees who called this one: it looks for a name
// without a slash where the caller's DT_RUNPATH says.
extern "C" HEAPLAB_EXPORT void* dlopen(const char* name, int mode) noexcept {
  opener* next = next_dlopen.load(std::memory_order_relaxed);
  if (next == nullptr) next = find_next();
  return next(name, mode & ~RTLD_DEEPBIND);
}
