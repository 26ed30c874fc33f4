// Prints how many bytes of blocks of 1 and 8 KiB live, as the malloc that is linked into the program counts
// them.
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#ifdef JEMALLOC
extern "C" int mallctl(const char*, void*, std::size_t*, void*, std::size_t);
static std::size_t counter(const char* name) {
  unsigned long value = 0;
  std::size_t bytes = sizeof value;
  mallctl(name, &value, &bytes, nullptr, 0);
  return value;
}
static std::size_t live() {
  return counter("thread.allocated") - counter("thread.deallocated");
}
#else
extern "C" int MallocExtension_GetNumericProperty(const char*, std::size_t*);
static std::size_t live() {
  std::size_t bytes = 0;
  MallocExtension_GetNumericProperty("generic.current_allocated_bytes", &bytes);
  return bytes;
}
#endif

static void* blocks[1000];

int main() {
  live();  // what the first call allocates itself
  const std::size_t before = live();
  for (int number = 0; number < 1000; ++number) {
    const std::size_t size = number % 5 == 0 ? 8192 : 1024;
    blocks[number] = number % 2 == 0 ? std::malloc(size) : new char[size];
  }
  for (int number = 0; number < 500; ++number) {
    if (number % 2 != 0)
      delete[] static_cast<char*>(blocks[number]);
    else if (number % 4 == 0)
      blocks[number] = std::realloc(blocks[number], 8192);
    else
      std::free(blocks[number]);
  }
  char text[32];
  const int bytes = std::snprintf(text, sizeof text, "%zu", live() - before);
  return ::write(1, text, static_cast<std::size_t>(bytes)) < 0;
}
