// Which library answers: all functions of the malloc family must come from the same library, else a block is
// freed by a library that does not know the block. A function that is standard and not there is a fault;
// others that are not there are named.
#include "check/served.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace exports {
namespace {

using heaplab::check::is_present;
using heaplab::check::library_at;
using heaplab::check::library_under_test;
using heaplab::check::real_path;

// The library that defines `name` for this program; empty if none does.
std::string library_of(const char* name) {
  return library_at(dlsym(RTLD_DEFAULT, name));
}

// The library under test, or the C library if none is given.
std::string intended_library() {
  const char* const path = library_under_test();
  return path == nullptr ? library_of("abort") : real_path(path);
}

void expect_served(std::initializer_list<const char*> names) {
  for (const char* const name : names) EXPECT_EQ(library_of(name), intended_library()) << name;
}

// For functions that a malloc need not have: each must be the malloc's own or absent.
void expect_served_or_absent(std::initializer_list<const char*> names) {
  for (const char* const name : names)
    if (is_present(name)) expect_served({name});
  if (const std::string missing = heaplab::check::missing_of(names); !missing.empty())
    GTEST_SKIP() << missing;
}

TEST(served, malloc) {
  expect_served({"malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc"});
}
TEST(served, reallocarray) {
  expect_served_or_absent({"reallocarray"});
}
TEST(served, memalign) {
  expect_served_or_absent({"memalign", "valloc", "pvalloc", "malloc_usable_size"});
}
TEST(served, sized_free) {
  expect_served_or_absent({"free_sized", "free_aligned_sized"});
}
TEST(served, new) {
  expect_served_or_absent({"_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm"});
}
TEST(served, aligned_new) {
  expect_served_or_absent(
      {"_ZnwmSt11align_val_t", "_ZnamSt11align_val_t", "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t"});
}
TEST(served, nothrow_new) {
  expect_served_or_absent({"_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_tRKSt9nothrow_t"});
}
TEST(served, introspection) {
  expect_served_or_absent({"mallinfo", "mallinfo2", "malloc_stats", "malloc_info", "malloc_trim", "mallopt"});
}
TEST(served, glibc_second_names) {
  expect_served_or_absent(
      {"__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_free", "__libc_memalign"});
}

}  // namespace
}  // namespace exports
