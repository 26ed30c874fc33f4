#include "recorder/next_functions.h"

#include <dlfcn.h>
#include <link.h>

#include <cerrno>
#include <cstdint>

#include "base/fatal.h"
#include "recorder/early_arena.h"
#include "recorder/redirection.h"
#include "recorder/sampling.h"
#include "recorder/thread_state.h"

namespace heaplab::recorder {

namespace {

constinit atomic<bool> looked_up = false;
constinit thread_local bool is_looking_up = false;

template <class Function>
bool find(Function& function, const char* name) {
  auto* const found = reinterpret_cast<typename Function::type>(dlsym(RTLD_NEXT, name));
  if (found != nullptr) function.set(found);
  return found != nullptr;
}

void look_up_all() {
  const bool all = find(next.malloc, "malloc") && find(next.calloc, "calloc") &&
                   find(next.realloc, "realloc") && find(next.free, "free") &&
                   find(next.posix_memalign, "posix_memalign") && find(next.aligned_alloc, "aligned_alloc") &&
                   find(next.memalign, "memalign") && find(next.valloc, "valloc") &&
                   find(next.pvalloc, "pvalloc");
  if (!all) fatal("recorder: no malloc is loaded behind it");
}

// True if the functions are known. False for the calls that the look-up itself makes. Several threads find
// the same functions.
bool known() {
  // acquire pairs with the release below.
  if (looked_up.load(std::memory_order_acquire)) return true;
  if (is_looking_up) return false;
  is_looking_up = true;
  look_up_all();
  is_looking_up = false;
  looked_up.store(true, std::memory_order_release);
  return true;
}

void* early_block(std::size_t size) {
  past_release.store(shortcut::never, std::memory_order_relaxed);
  void* const block = early.allocate(size);
  if (block == nullptr) errno = ENOMEM;
  return block;
}

void* first_malloc(std::size_t size) {
  return known() ? next.malloc(size) : early_block(size);
}

void* first_calloc(std::size_t count, std::size_t size) {
  std::size_t bytes;
  if (known()) return next.calloc(count, size);
  return __builtin_mul_overflow(count, size, &bytes) ? nullptr : early_block(bytes);
}

void* first_realloc(void* block, std::size_t size) {
  return known() ? next.realloc(block, size) : early_block(size);
}

void first_free(void* block) {
  if (known()) next.free(block);
}

// Where a library lacks the functions of C23, a free without a size does the same.
void plain_free_sized(void* block, std::size_t) {
  next.free(block);
}

void plain_free_aligned_sized(void* block, std::size_t, std::size_t) {
  next.free(block);
}

int first_posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  return known() ? next.posix_memalign(result, alignment, size) : ENOMEM;
}

void* first_aligned_alloc(std::size_t alignment, std::size_t size) {
  return known() ? next.aligned_alloc(alignment, size) : nullptr;
}

void* first_memalign(std::size_t alignment, std::size_t size) {
  return known() ? next.memalign(alignment, size) : nullptr;
}

void* first_valloc(std::size_t size) {
  return known() ? next.valloc(size) : nullptr;
}

void* first_pvalloc(std::size_t size) {
  return known() ? next.pvalloc(size) : nullptr;
}

// Few libraries have the functions of C23. A failed look-up leaves a text, which the first call of dlerror
// tells and the second frees. Both happen here, so that the program does not see the text; but not in the
// program's first call of malloc: dlerror takes the lock of setlocale, which may be what calls malloc.
[[gnu::constructor]] void look_up_functions_of_c23() {
  const doing own(this_thread, activity::own);
  const bool sized = find(next.free_sized, "free_sized");
  const bool aligned = find(next.free_aligned_sized, "free_aligned_sized");
  if (sized && aligned) return;
  dlerror();
  dlerror();
}

}  // namespace

constinit next_functions next{
    next_function<void*(std::size_t)>(first_malloc),
    next_function<void*(std::size_t, std::size_t)>(first_calloc),
    next_function<void*(void*, std::size_t)>(first_realloc),
    next_function<void(void*)>(first_free),
    next_function<void(void*, std::size_t)>(plain_free_sized),
    next_function<void(void*, std::size_t, std::size_t)>(plain_free_aligned_sized),
    next_function<int(void**, std::size_t, std::size_t)>(first_posix_memalign),
    next_function<void*(std::size_t, std::size_t)>(first_aligned_alloc),
    next_function<void*(std::size_t, std::size_t)>(first_memalign),
    next_function<void*(std::size_t)>(first_valloc),
    next_function<void*(std::size_t)>(first_pvalloc),
};

const char* allocator_path() {
  Dl_info info;
  void* of = nullptr;
  const std::uint64_t redirected = first_redirected.load(std::memory_order_relaxed);
  const auto address = redirected != 0 ? redirected : reinterpret_cast<std::uintptr_t>(next.malloc.get());
  // The program's own entry among the loaded files has no name.
  const bool is_known = dladdr1(reinterpret_cast<void*>(address), &info, &of, RTLD_DL_LINKMAP) != 0;
  return is_known ? static_cast<const link_map*>(of)->l_name : "";
}

}  // namespace heaplab::recorder
