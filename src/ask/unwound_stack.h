// The call stack of a stopped thread of another process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

namespace heaplab::ask {

struct address_range {
  std::uint64_t begin, end;
};

enum class stack_verdict { safe, in_range, in_signal_handler, unknown };

// Whether the stack of the thread was followed to its end, and has neither a frame in one of the ranges nor a
// signal handler.
stack_verdict examine_stack(pid_t thread, std::span<const address_range> unsafe);

}  // namespace heaplab::ask
