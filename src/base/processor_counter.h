// The event counters of the processor, as user space reads them where the kernel allows it. The index of a
// counter is that of perf_event_mmap_page, from 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace heaplab::processor_counter {

#if defined(__x86_64__)

// perf_event_attr::config1: access needs no request.
inline constexpr std::uint64_t config_of_user_access = 0;

inline constexpr bool has(std::uint32_t index) {
  return index != 0;
}

// Precondition: has(index).
inline std::uint64_t read(std::uint32_t index) {
  return __builtin_ia32_rdpmc(static_cast<int>(index - 1));
}

#elif defined(__aarch64__)

// perf_event_attr::config1, Documentation/arch/arm64/perf.rst of Linux: access from user space, to a counter
// of 32 bits, which every processor has.
inline constexpr std::uint64_t config_of_user_access = 2;

// The architecture has 31 event counters. Index 32 is the counter of cycles, which counts no other event.
inline constexpr std::uint32_t event_counters = 31;

inline constexpr bool has(std::uint32_t index) {
  return index != 0 && index <= event_counters;
}

// PMEVCNTR<n>_EL0, by the numbers that encode the register: which register is part of the instruction. No
// barrier: whether the last instructions before the read are counted is left to the processor.
template <unsigned n>
std::uint64_t event_counter() {
  std::uint64_t value;
  asm volatile("mrs %0, s3_3_c14_c%c1_%c2" : "=r"(value) : "i"(8 + n / 8), "i"(n % 8));
  return value;
}

template <std::size_t... n>
std::uint64_t event_counter_at(std::uint32_t number, std::index_sequence<n...>) {
  std::uint64_t value = 0;
  (void)((number == n && (value = event_counter<n>(), true)) || ...);
  return value;
}

// Precondition: has(index).
inline std::uint64_t read(std::uint32_t index) {
  return event_counter_at(index - 1, std::make_index_sequence<event_counters>());
}

#else

inline constexpr std::uint64_t config_of_user_access = 0;

inline constexpr bool has(std::uint32_t) {
  return false;
}

inline std::uint64_t read(std::uint32_t) {
  return 0;
}

#endif

}  // namespace heaplab::processor_counter
