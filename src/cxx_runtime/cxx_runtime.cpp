// A C program that uses the malloc library must not come to need the C++ run-time library.
//
// Shared library (HEAPLAB_SHARED): the names of the run-time library are weak. A process with a run-time
// library resolves them when the malloc library is loaded. A run-time library that is loaded later (by a C++
// plug-in of a C program) is looked up by name.
//
// Static library: the names are strong. This object is linked only into a program that uses operator new, and
// a weak name would not fetch the definition from the archive of the run-time library.
#include "cxx_runtime/cxx_runtime.h"

#include <dlfcn.h>

#include <new>

#include "base/fatal.h"

#ifdef HEAPLAB_SHARED
#define HEAPLAB_RUNTIME_NAME [[gnu::weak]]
// Named by the code the compiler makes of a catch clause.
asm(".weak __gxx_personality_v0, __cxa_begin_catch, __cxa_end_catch, _Unwind_Resume");
#else
#define HEAPLAB_RUNTIME_NAME
#endif

extern "C" {
HEAPLAB_RUNTIME_NAME std::new_handler heaplab_get_new_handler() noexcept asm("_ZSt15get_new_handlerv");
HEAPLAB_RUNTIME_NAME void heaplab_throw_bad_alloc() asm("_ZSt17__throw_bad_allocv");
}

namespace heaplab {
namespace {

#ifdef HEAPLAB_SHARED
template <class Function>
Function* find(Function* linked, const char* name) {
  if (linked != nullptr) return linked;
  void* const runtime = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return runtime == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(runtime, name));
}
#else
template <class Function>
Function* find(Function* linked, const char*) {
  return linked;
}
#endif

std::new_handler current_new_handler() {
  auto* const get = find(&heaplab_get_new_handler, "_ZSt15get_new_handlerv");
  return get == nullptr ? nullptr : get();
}

}  // namespace

bool call_new_handler() {
  const std::new_handler handler = current_new_handler();
  if (handler == nullptr) return false;
  handler();
  return true;
}

bool call_new_handler_nothrow() noexcept {
  try {
    return call_new_handler();
  } catch (...) {
    return false;
  }
}

void throw_bad_alloc() {
  if (auto* const raise = find(&heaplab_throw_bad_alloc, "_ZSt17__throw_bad_allocv")) raise();
  fatal("operator new: out of memory, and no C++ run-time library to throw bad_alloc");
}

void* call_nothrow(plain_new* replaced, std::size_t size) noexcept {
  try {
    return replaced(size);
  } catch (...) {
    return nullptr;
  }
}

void* call_nothrow(aligned_new* replaced, std::size_t size, std::align_val_t alignment) noexcept {
  try {
    return replaced(size, alignment);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace heaplab
