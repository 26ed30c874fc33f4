// Owner: the global allocator as a source.
#pragma once

#include <cstddef>
#include <new>

#include "heaplab/local/align.h"
#include "heaplab/local/fail.h"
#include "heaplab/local/source.h"

namespace heaplab::local {

// Has no state: every object can deallocate the blocks of every other. As thread-safe as the global operator
// new.
class new_delete {
public:
  void* allocate(std::size_t bytes, std::size_t alignment) {
    if (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
      // Some implementations of the aligned operator new round the size up, and the rounded size may wrap to
      // 0.
      if (bytes > maximum_size) fail<std::bad_alloc>();
      return ::operator new(bytes, std::align_val_t{alignment});
    }
    return ::operator new(bytes);
  }

  void deallocate(void* block, std::size_t bytes, std::size_t alignment) {
    if (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
      release(block, bytes, std::align_val_t{alignment});
    } else {
      release(block, bytes);
    }
  }

private:
  // Passes the size to the global allocator where the compiler offers the sized operator delete: clang does
  // so from version 19 on, or with -fsized-deallocation.
  template <class... Alignment>
  static void release(void* block, [[maybe_unused]] std::size_t bytes, Alignment... alignment) {
#ifdef __cpp_sized_deallocation
    ::operator delete(block, bytes, alignment...);
#else
    ::operator delete(block, alignment...);
#endif
  }
};

static_assert(source<new_delete>);

}  // namespace heaplab::local
