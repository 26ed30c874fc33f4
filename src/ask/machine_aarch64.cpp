#include <asm/ptrace.h>
#include <errno.h>
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "ask/machine.h"
#include "ask/thread_choice.h"
#include "ask/traced_thread.h"

namespace heaplab::ask {

namespace {

constexpr std::size_t number_register = 8;  // of a system call
constexpr std::uint32_t svc = 0xd4000001;
constexpr std::uint64_t instruction_bytes = sizeof svc;
constexpr std::uint64_t branch_type = 3U << 10;  // in pstate: how the last jump came to where it leads
constexpr std::uint64_t stack_alignment = 16;

bool is_system_call(pid_t process, std::uint64_t address) {
  std::uint32_t code = 0;
  return read_memory(process, address, &code, sizeof code) && code == svc;
}

// How often the thread has waited, in a system call or in a stop.
std::uint64_t waits_of(pid_t process, pid_t thread) {
  return number_in_status(process, thread, "voluntary_ctxt_switches:\t", 10).value_or(0);
}

// Whether vector registers are in use that are longer than those of every processor.
bool has_long_vectors(pid_t thread) {
  constexpr unsigned streaming = 0x40b;  // NT_ARM_SSVE of newer headers
  return std::ranges::any_of(std::initializer_list<unsigned>{NT_ARM_SVE, streaming}, [thread](unsigned note) {
    user_sve_header found{};
    iovec place{&found, sizeof found};
    return ::ptrace(PTRACE_GETREGSET, thread, note, &place) == 0 &&
           (found.flags & SVE_PT_REGS_MASK) == SVE_PT_REGS_SVE;
  });
}

}  // namespace

before_stop noted_of(pid_t process, pid_t thread) {
  before_stop found{};
  found.waits = waits_of(process, thread);
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", process, thread);
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return found;
  if (std::fscanf(file, "%*u %llx %*x %*x %*x %*x %*x %llx %llx", &found.first_argument, &found.stack_pointer,
                  &found.program_counter) != 3)
    found.program_counter = 0;  // it does not wait
  std::fclose(file);
  return found;
}

// The kernel has the interrupted call begin anew itself before it tells of the stop, unless the call ends.
// Where the thread has waited once since then, namely in this stop, the call is the one that was noted.
stopped_call stopped_call_of(pid_t process, pid_t thread, const before_stop& noted, const registers& found) {
  stopped_call of{found, false, false};
  const std::uint64_t number = found.regs[number_register];
  if (is_system_call(process, found.pc)) {
    of.waits_for_lock = number == SYS_futex && (found.regs[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
  } else if (static_cast<std::int64_t>(found.regs[0]) == -EINTR && is_ended_by_stops(number) &&
             noted.program_counter == found.pc && noted.stack_pointer == found.sp &&
             waits_of(process, thread) == noted.waits + 1) {
    of.is_ended = true;
    of.resumption.regs[0] = noted.first_argument;
    of.resumption.pc -= instruction_bytes;
  }
  return of;
}

std::uint64_t frame_place(const registers& resumption) {
  return (resumption.sp - sizeof(trampoline_frame)) / stack_alignment * stack_alignment;
}

bool keep(const traced_thread& thread, const registers& resumption, trampoline_frame& in) {
  const std::vector<std::byte> vectors = thread.vector_registers();
  user_fpsimd_state known{};
  if (vectors.size() < sizeof known || has_long_vectors(thread.id())) return false;
  std::memcpy(&known, vectors.data(), sizeof known);
  fpsimd_context kept{{FPSIMD_MAGIC, sizeof kept}, known.fpsr, known.fpcr, {}};
  std::ranges::copy(known.vregs, kept.vregs);
  mcontext_t& to = in.resumption.context.uc_mcontext;
  std::ranges::copy(resumption.regs, to.regs);
  to.sp = resumption.sp;
  to.pc = resumption.pc;
  to.pstate = resumption.pstate;
  std::memcpy(to.__reserved, &kept, sizeof kept);  // zeros behind it end the list
  constexpr std::size_t mask_bytes = 8;            // of the kernel
  return ::ptrace(PTRACE_GETSIGMASK, thread.id(), mask_bytes, &in.resumption.context.uc_sigmask) == 0;
}

registers entry_of(const registers& resumption, std::uint64_t frame, const calls_to_make& calls) {
  registers entry = resumption;
  entry.pc = calls.code;
  entry.sp = frame;
  entry.pstate &= ~branch_type;
  entry.regs[19] = calls.begin;
  entry.regs[20] = calls.end;
  entry.regs[21] = calls.done;
  entry.regs[22] = calls.errno_location;
  return entry;
}

}  // namespace heaplab::ask
