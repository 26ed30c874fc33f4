// Why the instructions of a thread cannot be counted, for the person who asked for it.
#pragma once

#include <string>

namespace heaplab::trace {

// In one line; empty if instruction_counter counts them here.
std::string why_not_counted();

// The same for a system whose files lie below `root`. `error`: the errno with which instruction_counter::open
// failed, or 0 if it succeeded.
std::string why_not_counted(int error, const std::string& root);

}  // namespace heaplab::trace
