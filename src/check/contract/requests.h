// Every function that gives a block, under one signature.
#pragma once

#include <dlfcn.h>

#include <new>

#include "check/contract/api.h"

namespace contract {

// Whether a function can be tested. `name`: the symbol of one that a malloc need not have, else null.
inline bool is_served(const char* name) {
  return name == nullptr || (heaplab::check::is_present(name) && dlsym(RTLD_DEFAULT, name) != nullptr);
}

struct request {
  const char* name;
  const char* optional;  // as in is_served
  void* (*perform)(std::size_t size);
};

inline constexpr request requests[] = {
    {"malloc", nullptr, [](std::size_t size) { return std::malloc(size); }},
    {"calloc", nullptr, [](std::size_t size) { return std::calloc(1, size); }},
    {"realloc", nullptr, [](std::size_t size) { return std::realloc(opaque<void*>(nullptr), size); }},
    {"reallocarray", "reallocarray", [](std::size_t size) { return reallocarray(nullptr, 1, size); }},
    {"aligned_alloc", nullptr, [](std::size_t size) { return aligned_alloc(64, (size + 63) / 64 * 64); }},
    {"posix_memalign", nullptr,
     [](std::size_t size) {
       void* result = nullptr;
       return posix_memalign(&result, 4096, size) == 0 ? result : nullptr;
     }},
    {"memalign", "memalign", [](std::size_t size) { return memalign(256, size); }},
    {"valloc", "valloc", [](std::size_t size) { return valloc(size); }},
    {"pvalloc", "pvalloc", [](std::size_t size) { return pvalloc(size); }},
    {"operator new", nullptr, [](std::size_t size) { return ::operator new(size); }},
    {"operator new, aligned", nullptr,
     [](std::size_t size) { return ::operator new(size, std::align_val_t{128}); }},
};

// Calls visit(request) for each function that the library under test has.
template <class Visit>
void for_each_request(Visit&& visit) {
  for (const request& way : requests)
    if (is_served(way.optional)) visit(way);
}

}  // namespace contract
