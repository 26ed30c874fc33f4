// Registers of AArch64.
#pragma once

#include <elf.h>
#include <sys/ucontext.h>
#include <sys/user.h>

#include <csignal>
#include <cstdint>
#include <vector>

#include "ask/trampoline.h"

namespace heaplab::ask {

using registers = user_regs_struct;

// The system call in which a thread waits: the kernel tells its first argument no longer once it has ended.
struct before_stop {
  unsigned long long first_argument, stack_pointer, program_counter;
  std::uint64_t waits;  // how often the thread has waited
};

inline constexpr unsigned vector_registers_note = NT_FPREGSET;

inline std::uint64_t program_counter(const registers& of) {
  return of.pc;
}

inline std::uint64_t stack_pointer(const registers& of) {
  return of.sp;
}

// Bytes that begin a function and are no longer than an instruction: nobody is inside.
inline bool is_one_instruction(const std::vector<unsigned char>& code) {
  return code.size() == sizeof(std::uint32_t);
}

// What a signal handler returns by (rt_sigframe of the kernel).
struct signal_frame {
  siginfo_t about;
  ucontext_t context;
};

// The thread enters with its stack pointer at the begin.
struct trampoline_frame {
  frame_head head;
  signal_frame resumption;
};

}  // namespace heaplab::ask
