// What differs from machine to machine: the registers of a thread, and where they wait while it makes calls.
#pragma once

#include <sys/types.h>

#include "ask/trampoline.h"

#if defined(__x86_64__)
#include "ask/machine_x86_64.h"
#elif defined(__aarch64__)
#include "ask/machine_aarch64.h"
#endif

namespace heaplab::ask {

class traced_thread;

// To be noted just before a thread is interrupted.
before_stop noted_of(pid_t process, pid_t thread);

// The system call in which a thread was stopped, if it was in one.
struct stopped_call {
  registers resumption;  // to go on with: what the stop has interrupted begins anew
  bool is_ended;         // with EINTR, unless the thread gets these registers
  bool waits_for_lock;
};
stopped_call stopped_call_of(pid_t process, pid_t thread, const before_stop& noted, const registers& found);

// Whether a stop ends this system call with EINTR though no signal is delivered (signal(7)).
bool is_ended_by_stops(std::uint64_t system_call);

// The address of the frame of a thread that goes on with these registers.
std::uint64_t frame_place(const registers& resumption);

// Has the frame hold all registers. False: the thread has some for which it has no room.
bool keep(const traced_thread& thread, const registers& resumption, trampoline_frame& in);

// Registers to enter the trampoline with.
registers entry_of(const registers& resumption, std::uint64_t frame, const calls_to_make& calls);

}  // namespace heaplab::ask
