#include "workloads/local/heap_arena.h"

#include <dlfcn.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "probes/served_by.h"
#include "workloads/harness/usage_error.h"

namespace heaplab::strategies {

namespace {

// Functions exported by mimalloc.
struct mimalloc_calls {
  void* (*heap_new)() = nullptr;
  void (*heap_destroy)(void*) = nullptr;
  void* (*allocate)(void*, std::size_t, std::size_t) = nullptr;
  void (*release)(void*) = nullptr;
};

// Functions exported by jemalloc.
struct jemalloc_calls {
  void* (*allocate)(std::size_t, int) = nullptr;
  void (*release)(void*, std::size_t, int) = nullptr;
  int (*control)(const char*, void*, std::size_t*, void*, std::size_t) = nullptr;
};

constinit mimalloc_calls mimalloc;
constinit jemalloc_calls jemalloc;

// Finds the function if the library that serves malloc defines it.
template <class Function>
bool find(Function*& function, const char* name) {
  const probes::loaded_library serving = probes::library_of_symbol("malloc");
  if (std::strcmp(serving.path, probes::library_of_symbol(name).path) != 0) return false;
  function = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

bool find_mimalloc() {
  return find(mimalloc.heap_destroy, "mi_heap_destroy") &&
         find(mimalloc.allocate, "mi_heap_malloc_aligned") && find(mimalloc.release, "mi_free") &&
         find(mimalloc.heap_new, "mi_heap_new");
}

bool find_jemalloc() {
  return find(jemalloc.allocate, "mallocx") && find(jemalloc.release, "sdallocx") &&
         find(jemalloc.control, "mallctl");
}

// The flags of mallocx, composed as in <jemalloc/jemalloc.h>.
int arena_flag(unsigned arena) {
  return static_cast<int>((arena + 1) << 20);
}
int cache_flag(unsigned cache) {
  return static_cast<int>((cache + 2) << 8);
}
int alignment_flag(std::size_t alignment) {
  return std::countr_zero(alignment);
}

unsigned create(const char* what) {
  unsigned made = 0;
  std::size_t bytes = sizeof made;
  if (jemalloc.control(what, &made, &bytes, nullptr, 0) != 0) throw std::bad_alloc();
  return made;
}

}  // namespace

void heap_arena::expect_available() {
  static const bool found = find_mimalloc() || find_jemalloc();
  if (found) return;
  throw harness::run_error(std::string("--strategy heap-arena: ") + probes::library_of_symbol("malloc").path +
                           ", which serves malloc, has no arenas to destroy as a whole");
}

heap_arena::heap_arena() {
  open();
}

heap_arena::~heap_arena() {
  close();
}

void* heap_arena::allocate(std::size_t bytes, std::size_t alignment) {
  void* const block = heap_ != nullptr ? mimalloc.allocate(heap_, bytes, alignment)
                                       : jemalloc.allocate(bytes, flags_ | alignment_flag(alignment));
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void heap_arena::deallocate(void* block, std::size_t bytes, std::size_t alignment) {
  if (heap_ != nullptr) {
    mimalloc.release(block);
  } else {
    jemalloc.release(block, bytes, flags_ | alignment_flag(alignment));
  }
}

void heap_arena::release() {
  close();
  open();
}

void heap_arena::open() {
  if (mimalloc.heap_new != nullptr) {
    heap_ = mimalloc.heap_new();
    if (heap_ == nullptr) throw std::bad_alloc();
    return;
  }
  arena_ = create("arenas.create");
  cache_ = create("tcache.create");
  flags_ = arena_flag(arena_) | cache_flag(cache_);
}

void heap_arena::close() {
  if (heap_ != nullptr) return mimalloc.heap_destroy(heap_);
  jemalloc.control("tcache.destroy", nullptr, nullptr, &cache_, sizeof cache_);
  std::array<char, 64> name;
  std::snprintf(name.data(), name.size(), "arena.%u.destroy", arena_);
  jemalloc.control(name.data(), nullptr, nullptr, nullptr, 0);
}

}  // namespace heaplab::strategies
