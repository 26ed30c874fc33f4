// Variables of the environment, also before the C library knows the environment: the loader calls the
// functions of .preinit_array, and these may allocate, before the constructor of the C library that sets
// `environ`.
#pragma once

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <string_view>

// Where the kernel put the number of arguments; the arguments and the environment follow (System V ABI,
// "initial process stack"). glibc exports the name; null with other C libraries.
extern "C" {
[[gnu::weak]] extern void* __libc_stack_end;
}

namespace heaplab {

// Null if `environment`, a list that ends with null, does not hold the variable.
inline const char* variable_in(const char* const* environment, std::string_view name) {
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
      return *environment + name.size() + 1;
  }
  return nullptr;
}

// `stack_end` as in __libc_stack_end.
inline const char* const* environment_on(const void* stack_end) {
  const auto words = static_cast<const char* const*>(stack_end);
  const auto arguments = *static_cast<const long*>(stack_end);
  return words + 1 + arguments + 1;
}

// Null if the variable is not set, and in a set-user-id program.
inline const char* process_variable(const char* name) {
  if (environ != nullptr || &__libc_stack_end == nullptr) return secure_getenv(name);
  return getauxval(AT_SECURE) != 0 ? nullptr : variable_in(environment_on(__libc_stack_end), name);
}

}  // namespace heaplab
