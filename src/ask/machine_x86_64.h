// Registers of x86-64.
#pragma once

#include <elf.h>
#include <sys/user.h>

#include <cstdint>
#include <vector>

#include "ask/trampoline.h"

namespace heaplab::ask {

using registers = user_regs_struct;

struct before_stop {};  // the kernel keeps all that a system call began with

inline constexpr unsigned vector_registers_note = NT_X86_XSTATE;

inline std::uint64_t program_counter(const registers& of) {
  return of.rip;
}

inline std::uint64_t stack_pointer(const registers& of) {
  return of.rsp;
}

// Whether bytes that begin a function are a jump, or the instruction that it replaces: nobody is inside.
inline bool is_one_instruction(const std::vector<unsigned char>& code) {
  return code.front() == 0xe9;
}

// The thread enters with its stack pointer behind the head.
struct trampoline_frame {
  frame_head head;
  std::uint64_t general[15];  // as a user_regs_struct begins: r15 to rdi
  std::uint64_t flags, rip;
};

}  // namespace heaplab::ask
