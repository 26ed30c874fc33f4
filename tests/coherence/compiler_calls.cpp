// What the compiler calls before each access to memory in code that is compiled with -fsanitize=thread. These
// functions report the access to the simulated machine. Their names and types are the compiler's.
#include <cstddef>
#include <cstdint>

#include "coherence/machine.h"

namespace {

using heaplab::coherence::machine;

// Nothing is reported between the turns of cores.
template <class Report>
void report(Report&& to) {
  machine* const running = machine::running();
  if (running != nullptr) to(*running);
}

}  // namespace

#define HEAPLAB_ACCESS_CALLS(bytes)                                 \
  void __tsan_read##bytes(void* place) {                            \
    report([&](machine& running) { running.read(place, bytes); });  \
  }                                                                 \
  void __tsan_write##bytes(void* place) {                           \
    report([&](machine& running) { running.write(place, bytes); }); \
  }                                                                 \
  void __tsan_unaligned_read##bytes(void* place) {                  \
    __tsan_read##bytes(place);                                      \
  }                                                                 \
  void __tsan_unaligned_write##bytes(void* place) {                 \
    __tsan_write##bytes(place);                                     \
  }

extern "C" {
HEAPLAB_ACCESS_CALLS(1)
HEAPLAB_ACCESS_CALLS(2)
HEAPLAB_ACCESS_CALLS(4)
HEAPLAB_ACCESS_CALLS(8)
HEAPLAB_ACCESS_CALLS(16)
void __tsan_read_range(void* place, std::size_t bytes) {
  report([&](machine& running) { running.read(place, bytes); });
}
void __tsan_write_range(void* place, std::size_t bytes) {
  report([&](machine& running) { running.write(place, bytes); });
}

// The few atomics that have no decision points and are those of the library (span_pool.h, os_pages.h,
// freeing.h).
std::uint32_t __tsan_atomic32_load(const volatile std::uint32_t* place, int) {
  __tsan_read4(const_cast<std::uint32_t*>(place));
  return *place;
}
void __tsan_atomic32_store(volatile std::uint32_t* place, std::uint32_t value, int) {
  __tsan_write4(const_cast<std::uint32_t*>(place));
  *place = value;
}
void __tsan_atomic64_store(volatile std::uint64_t* place, std::uint64_t value, int) {
  __tsan_write8(const_cast<std::uint64_t*>(place));
  *place = value;
}
int __tsan_atomic32_compare_exchange_weak(volatile std::uint32_t* place, std::uint32_t* expected,
                                          std::uint32_t wanted, int, int) {
  report([&](machine& running) { running.change(place); });
  const std::uint32_t old = *place;
  if (old == *expected) return *place = wanted, 1;
  return *expected = old, 0;
}
void __tsan_atomic_signal_fence(int) {}

void __tsan_vptr_update(void* place, void*) {
  __tsan_write8(place);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
}
