// The functions of the process's C++ run-time library that operator new needs when memory is out, and where
// the program has an operator new of its own.
#pragma once

#include <cstddef>
#include <new>

namespace heaplab {

// False: no new-handler is set. An exception of the handler passes through.
bool call_new_handler();

// False: no new-handler is set, or it threw.
bool call_new_handler_nothrow() noexcept;

[[noreturn]] void throw_bad_alloc();

using plain_new = void*(std::size_t);
using aligned_new = void*(std::size_t, std::align_val_t);
using plain_delete = void(void*) noexcept;
using aligned_delete = void(void*, std::align_val_t) noexcept;

// Null where the program's operator new throws.
void* call_nothrow(plain_new* replaced, std::size_t size) noexcept;
void* call_nothrow(aligned_new* replaced, std::size_t size, std::align_val_t alignment) noexcept;

}  // namespace heaplab
