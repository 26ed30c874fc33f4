// Calls every allocation function once, in the order of expected_calls in cases.py.
#include <malloc.h>
#include <stdlib.h>

#include <cerrno>
#include <new>

extern "C" {
// Of C23; glibc 2.36 has neither.
[[gnu::weak]] void free_sized(void*, std::size_t);
[[gnu::weak]] void free_aligned_sized(void*, std::size_t, std::size_t);
}

namespace {

constexpr std::align_val_t wide{64};
// Opaque, so that the compiler makes every call that is written.
thread_local void* volatile kept;
std::size_t volatile size_of_all = ~std::size_t{0} / 2;

void* keep(void* block) {
  kept = block;
  return kept;
}

bool call_c() {
  void* aligned = nullptr;
  free(keep(malloc(1001)));
  void* block = realloc(keep(calloc(7, 143)), 1003);
  free_sized(reallocarray(block, 4, 251), 1004);
  if (posix_memalign(&aligned, 128, 1005) != 0) return false;
  free_aligned_sized(aligned, 128, 1005);
  free(keep(aligned_alloc(256, 1006)));
  free(keep(memalign(512, 1007)));
  free(keep(valloc(1008)));
  free(keep(pvalloc(1009)));
  free(nullptr);
  errno = 0;
  block = malloc(1010);
  const bool failed = realloc(block, size_of_all) == nullptr && errno == ENOMEM;
  free(block);
  free(realloc(nullptr, 1011));
  return failed && realloc(malloc(1012), 0) == nullptr;
}

void call_cxx() {
  operator delete(keep(operator new(2001)));
  operator delete[](keep(operator new[](2002)));
  operator delete(keep(operator new(2003)), 2003);
  operator delete[](keep(operator new[](2004)), 2004);
  operator delete(keep(operator new(2005, std::nothrow)), std::nothrow);
  operator delete[](keep(operator new[](2006, std::nothrow)), std::nothrow);
  operator delete(keep(operator new(2007, wide)), wide);
  operator delete[](keep(operator new[](2008, wide)), wide);
  operator delete(keep(operator new(2009, wide)), 2009, wide);
  operator delete[](keep(operator new[](2010, wide)), 2010, wide);
  operator delete(keep(operator new(2011, wide, std::nothrow)), wide, std::nothrow);
  operator delete[](keep(operator new[](2012, wide, std::nothrow)), wide, std::nothrow);
}

bool fails_as_ever() {
  try {
    kept = operator new(size_of_all);
    return false;
  } catch (const std::bad_alloc&) {
    return operator new(size_of_all, std::nothrow) == nullptr;
  }
}

}  // namespace

int main() {
  call_cxx();
  return call_c() && fails_as_ever() ? 0 : 1;
}
