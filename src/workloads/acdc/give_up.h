#pragma once

namespace heaplab::acdc {

// Ends the program with one line and status 1, without touching the heap, which may be broken.
[[noreturn, gnu::noinline, gnu::cold]] void give_up(const char* why);

}  // namespace heaplab::acdc
