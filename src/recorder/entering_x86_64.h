// How a redirected function enters the recorder, on x86-64.
#pragma once

#include <cstdint>
#include <cstring>

#include "recorder/redirected_call.h"

// The compiler may know which registers a function of its own file leaves alone (gcc's -fipa-ra), so all are
// saved that a function may use, but the one with the result.
//
// On entry: rbp = the caller's frame pointer and the return address, as if this were a function with a frame
// pointer; below it the r11 of the caller, and r11 = the entry.
asm(R"(
  .text
  .balign 16
  .hidden heaplab_enter_redirected
  .globl heaplab_enter_redirected
  .type heaplab_enter_redirected, @function
heaplab_enter_redirected:
  .cfi_startproc
  .cfi_def_cfa rbp, 16
  .cfi_offset rbp, -16
  push %rcx
  push %rdx
  push %rsi
  push %rdi
  push %r8
  push %r9
  push %r10
  mov %rsp, %rdi
  mov %r11, %rsi
  sub $256, %rsp
  and $-16, %rsp  # within its own file a function may be called with any stack
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  movaps %xmm\n, 16*\n(%rsp)
  .endr
  call heaplab_serve_redirected
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  movaps 16*\n(%rsp), %xmm\n
  .endr
  lea -64(%rbp), %rsp
  pop %r10
  pop %r9
  pop %r8
  pop %rdi
  pop %rsi
  pop %rdx
  pop %rcx
  pop %r11
  pop %rbp
  .cfi_def_cfa rsp, 8
  ret
  .cfi_endproc
  .size heaplab_enter_redirected, . - heaplab_enter_redirected
)");

namespace heaplab::recorder {

extern "C" const std::uint8_t heaplab_enter_redirected[];

// What the code above has saved.
class saved_registers {
public:
  std::uint64_t argument(std::size_t number) const { return words_[arguments[number]]; }
  // The caller's frame pointer and the return address.
  const std::uint64_t* frame() const { return words_ + 8; }

private:
  static constexpr std::uint8_t arguments[] = {3, 4, 5, 6, 2, 1};

  std::uint64_t words_[10];  // r10, r9, r8, rdi, rsi, rdx, rcx, r11, then the frame
};

inline void write_enter(redirected_entry& entry) {
  constexpr std::uint8_t keep_frame[] = {0x55, 0x48, 0x89,
                                         0xE5, 0x41, 0x53};  // push rbp; mov rsp, rbp; push r11
  constexpr std::uint8_t load_entry[] = {0x49, 0xBB};        // mov $entry, r11
  constexpr std::uint8_t jump[] = {0xFF, 0x25, 0, 0, 0, 0};  // to what follows
  std::uint8_t* to = put(put(entry.enter, keep_frame), load_entry);
  to = put(to, reinterpret_cast<std::uint64_t>(&entry));
  put(put(to, jump), reinterpret_cast<std::uint64_t>(&heaplab_enter_redirected));
}

// Adapts a displacement that stood at `stood`. False: it does not reach from here.
inline bool adapt(std::uint8_t* at, std::uint64_t stood) {
  const auto distance = static_cast<std::int64_t>(stood - reinterpret_cast<std::uint64_t>(at));
  std::int32_t value;
  std::memcpy(&value, at, sizeof value);
  if (__builtin_add_overflow(value, distance, &value)) return false;
  put(at, value);
  return true;
}

}  // namespace heaplab::recorder
