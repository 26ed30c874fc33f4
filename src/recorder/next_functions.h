// The allocation functions below the recorder: of the library preloaded behind it, or the C library's.
#pragma once

#include <cstddef>

#include "base/atomic.h"
#include "base/compiler.h"

namespace heaplab::recorder {

template <class Signature>
class next_function;

// A thread's first call looks up all functions but those of C23, unless another thread has done so; what the
// look-up itself allocates is served from the early arena. So no program has a block of the arena, and
// malloc_usable_size need not know of them.
template <class Result, class... Arguments>
class next_function<Result(Arguments...)> {
public:
  using type = Result (*)(Arguments...);
  constexpr explicit next_function(type first) : to_(first) {}

  HEAPLAB_FAST_PATH Result operator()(Arguments... arguments) const {
    // relaxed: code exists before any thread that could read the pointer.
    return to_.load(std::memory_order_relaxed)(arguments...);
  }
  void set(type to) { to_.store(to, std::memory_order_relaxed); }
  type get() const { return to_.load(std::memory_order_relaxed); }

private:
  atomic<type> to_;
};

struct next_functions {
  next_function<void*(std::size_t)> malloc;
  next_function<void*(std::size_t, std::size_t)> calloc;
  next_function<void*(void*, std::size_t)> realloc;
  next_function<void(void*)> free;
  next_function<void(void*, std::size_t)> free_sized;
  next_function<void(void*, std::size_t, std::size_t)> free_aligned_sized;
  next_function<int(void**, std::size_t, std::size_t)> posix_memalign;
  next_function<void*(std::size_t, std::size_t)> aligned_alloc;
  next_function<void*(std::size_t, std::size_t)> memalign;
  next_function<void*(std::size_t)> valloc;
  next_function<void*(std::size_t)> pvalloc;
};

[[gnu::visibility("hidden")]] extern constinit next_functions next;

// Path of the library with the malloc that is recorded; "": the program has it.
const char* allocator_path();

}  // namespace heaplab::recorder
