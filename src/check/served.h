// Which library serves a function of this program.
#pragma once

#include <dlfcn.h>

#include <climits>
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace heaplab::check {

// Empty where there is no file.
inline std::string real_path(const char* path) {
  char resolved[PATH_MAX];
  return realpath(path, resolved) == nullptr ? "" : resolved;
}

// The library that has the address; empty if none has.
inline std::string library_at(const void* address) {
  Dl_info info;
  return address == nullptr || dladdr(address, &info) == 0 ? "" : real_path(info.dli_fname);
}

// Null: the C library's own malloc is under test.
inline const char* library_under_test() {
  return std::getenv("HEAPLAB_LIBRARY_UNDER_TEST");
}

// Whether the library under test has a function of its own; true for the C library.
inline bool is_present(const char* name) {
  const char* const path = library_under_test();
  if (path == nullptr) return true;
  void* const handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  return handle != nullptr && library_at(dlsym(handle, name)) == real_path(path);
}

// The functions that tests of this process did without (missing_of), with spaces between.
inline std::string absent_functions;

// Those that the library under test has not; empty: it has all.
inline std::string missing_of(std::initializer_list<const char*> names) {
  std::string missing;
  for (const char* const name : names)
    if (!is_present(name)) missing += (missing.empty() ? "" : " ") + std::string(name);
  absent_functions = missing.empty() ? absent_functions : missing;
  return missing;
}

}  // namespace heaplab::check

// Skips a test of functions that a malloc need not have where the library under test has not all of them:
// what another library does for them says nothing about this one.
#define HEAPLAB_NEED(...)                                                                      \
  if (const std::string missing = heaplab::check::missing_of({__VA_ARGS__}); !missing.empty()) \
  GTEST_SKIP() << missing
