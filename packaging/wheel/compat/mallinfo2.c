/* For checks of a library's mallinfo2, where the C library has none (before glibc 2.33): that of the library
   under test, or what mallinfo says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>

__attribute__((visibility("hidden"))) struct mallinfo2 mallinfo2(void) {
  struct mallinfo2 (*preloaded)(void) = (struct mallinfo2(*)(void))dlsym(RTLD_DEFAULT, "mallinfo2");
  if (preloaded) return preloaded();
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo narrow = mallinfo();
  return (struct mallinfo2){
      .arena = (unsigned)narrow.arena,
      .ordblks = (unsigned)narrow.ordblks,
      .smblks = (unsigned)narrow.smblks,
      .hblks = (unsigned)narrow.hblks,
      .hblkhd = (unsigned)narrow.hblkhd,
      .usmblks = (unsigned)narrow.usmblks,
      .fsmblks = (unsigned)narrow.fsmblks,
      .uordblks = (unsigned)narrow.uordblks,
      .fordblks = (unsigned)narrow.fordblks,
      .keepcost = (unsigned)narrow.keepcost,
  };
}
