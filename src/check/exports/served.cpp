// Which library answers: all functions of the malloc family must come from the same library, else a block is
// freed by a library that does not know the block.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <stdlib.h>

#include <cstdlib>
#include <initializer_list>
#include <string>

namespace exports {
namespace {

std::string real_path(const char* path) {
  char* const resolved = realpath(path, nullptr);
  const std::string result = resolved == nullptr ? path : resolved;
  std::free(resolved);
  return result;
}

// The library that defines `name` for this program; empty if none does.
std::string library_of(const char* name) {
  void* const address = dlsym(RTLD_DEFAULT, name);
  Dl_info info;
  if (address == nullptr || dladdr(address, &info) == 0) return "";
  return real_path(info.dli_fname);
}

// The library under test, or the C library if none is given.
std::string intended_library() {
  const char* const path = std::getenv("HEAPLAB_LIBRARY_UNDER_TEST");
  return path == nullptr ? library_of("abort") : real_path(path);
}

void expect_served(std::initializer_list<const char*> names) {
  for (const char* const name : names) EXPECT_EQ(library_of(name), intended_library()) << name;
}

TEST(served, malloc) {
  expect_served(
      {"malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "malloc_usable_size"});
}
TEST(served, reallocarray) {
  expect_served({"reallocarray"});
}
TEST(served, memalign) {
  expect_served({"memalign", "valloc", "pvalloc"});
}
TEST(served, sized_free) {
  expect_served({"free_sized", "free_aligned_sized"});
}
TEST(served, new) {
  expect_served({"_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm"});
}
TEST(served, aligned_new) {
  expect_served(
      {"_ZnwmSt11align_val_t", "_ZnamSt11align_val_t", "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t"});
}
TEST(served, nothrow_new) {
  expect_served({"_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_tRKSt9nothrow_t"});
}
TEST(served, introspection) {
  expect_served({"mallinfo", "mallinfo2", "malloc_stats", "malloc_info", "malloc_trim", "mallopt"});
}
TEST(served, glibc_second_names) {
  expect_served({"__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_free", "__libc_memalign"});
}

}  // namespace
}  // namespace exports
