// What operator new needs of the process's C++ run-time library when memory is out.
#pragma once

namespace heaplab::shim {

// False: no new-handler is set. Whatever the handler throws flies on.
bool call_new_handler();

// False: no new-handler is set, or it threw.
bool call_new_handler_nothrow() noexcept;

[[noreturn]] void throw_bad_alloc();

}  // namespace heaplab::shim
