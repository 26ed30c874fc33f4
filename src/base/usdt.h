// Probes that a tracer may attach to while the program runs (user statically defined tracing): a `nop` in the
// code, and a note of the ELF section .note.stapsdt that tells its place and where its arguments are. A
// tracer writes a breakpoint over the `nop`, and adds 1 to the semaphore of the probe.
#pragma once

#include <cstdint>

// Defines the semaphore of a probe: PROVIDER_NAME_semaphore. Once in a program for each probe.
#define HEAPLAB_PROBE_SEMAPHORE(provider, name)                           \
  extern "C" {                                                            \
  [[gnu::weak, gnu::visibility("hidden"), gnu::section(".probes"),        \
    gnu::used]] volatile std::uint16_t provider##_##name##_semaphore = 0; \
  }

// Whether a tracer is attached. No memory order: a tracer is attached at some moment of the program's run.
#define HEAPLAB_PROBE_IS_TRACED(provider, name) (__builtin_expect(provider##_##name##_semaphore, 0) != 0)

// Where addresses in notes count from: prelink might move the program.
#define HEAPLAB_PROBE_BASE                                                \
  ".ifndef _.stapsdt.base\n"                                              \
  ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
  ".weak _.stapsdt.base\n"                                                \
  ".hidden _.stapsdt.base\n"                                              \
  "_.stapsdt.base: .space 1\n"                                            \
  ".size _.stapsdt.base, 1\n"                                             \
  ".popsection\n"                                                         \
  ".endif\n"

#define HEAPLAB_PROBE_NOTE(provider, name, arguments)                   \
  "990: nop\n"                                                          \
  ".pushsection .note.stapsdt,\"?\",\"note\"\n"                         \
  ".balign 4\n"                                                         \
  ".4byte 992f-991f, 994f-993f, 3\n"                                    \
  "991: .asciz \"stapsdt\"\n"                                           \
  "992: .balign 4\n"                                                    \
  "993: .8byte 990b\n"                                                  \
  ".8byte _.stapsdt.base\n"                                             \
  ".8byte " #provider "_" #name                                         \
  "_semaphore\n"                                                        \
  ".asciz \"" #provider "\"\n.asciz \"" #name "\"\n.asciz \"" arguments \
  "\"\n"                                                                \
  "994: .balign 4\n"                                                    \
  ".popsection\n" HEAPLAB_PROBE_BASE

// Arguments are words. They are constrained to registers, so that every tracer can read them.
#define HEAPLAB_PROBE1(provider, name, a) \
  asm volatile(HEAPLAB_PROBE_NOTE(provider, name, "8@%0")::"r"(std::uint64_t(a)) : "memory")
#define HEAPLAB_PROBE3(provider, name, a, b, c)                                             \
  asm volatile(HEAPLAB_PROBE_NOTE(provider, name, "8@%0 8@%1 8@%2")::"r"(std::uint64_t(a)), \
               "r"(std::uint64_t(b)), "r"(std::uint64_t(c))                                 \
               : "memory")
