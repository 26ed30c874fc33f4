#include <errno.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstring>

#include "ask/machine.h"

namespace heaplab::ask {

namespace {

// What the kernel puts into rax of an interrupted system call (include/linux/errno.h).
constexpr std::int64_t restart_sys = -512;
constexpr std::int64_t restart_no_intr = -513;
constexpr std::int64_t restart_no_hand = -514;
constexpr std::int64_t restart_block = -516;

constexpr std::uint64_t syscall_instruction_bytes = 2;
constexpr std::size_t red_zone = 128;  // B below the stack pointer that functions may use

}  // namespace

before_stop noted_of(pid_t, pid_t) {
  return {};
}

stopped_call stopped_call_of(pid_t, pid_t, const before_stop&, const registers& found) {
  stopped_call of{found, false, false};
  if (static_cast<std::int64_t>(found.orig_rax) < 0) return of;
  const auto result = static_cast<std::int64_t>(found.rax);
  of.is_ended = result == -EINTR && is_ended_by_stops(found.orig_rax);
  of.waits_for_lock = found.orig_rax == SYS_futex;
  registers& wanted = of.resumption;
  if (result == restart_sys || result == restart_no_intr || result == restart_no_hand || of.is_ended)
    wanted.rax = found.orig_rax;
  else if (result == restart_block)
    wanted.rax = SYS_restart_syscall;
  else
    return of;
  wanted.rip -= syscall_instruction_bytes;
  wanted.orig_rax = ~std::uint64_t{0};  // the kernel starts nothing anew itself
  return of;
}

std::uint64_t frame_place(const registers& resumption) {
  return resumption.rsp - sizeof(trampoline_frame) - red_zone;
}

bool keep(const traced_thread&, const registers& resumption, trampoline_frame& in) {
  std::memcpy(in.general, &resumption, sizeof in.general);
  in.flags = resumption.eflags;
  in.rip = resumption.rip;
  return true;
}

registers entry_of(const registers& resumption, std::uint64_t frame, const calls_to_make& calls) {
  registers entry = resumption;
  constexpr std::uint64_t trap_flag = 1U << 8, direction_flag = 1U << 10, alignment_flag = 1U << 18;
  entry.eflags &= ~(trap_flag | direction_flag | alignment_flag);
  entry.rip = calls.code;
  entry.rsp = frame + offsetof(trampoline_frame, general);
  entry.rbx = calls.begin;
  entry.r12 = calls.end;
  entry.r13 = calls.done;
  entry.r14 = calls.errno_location;
  entry.orig_rax = ~std::uint64_t{0};
  return entry;
}

}  // namespace heaplab::ask
