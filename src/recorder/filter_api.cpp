// Notices when the program installs a filter of its system calls (system_call_filters.h).
//
// The functions are defined under other names, since the headers of the C library declare them with arguments
// of any number.
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "base/compiler.h"
#include "recorder/next_symbol.h"
#include "recorder/process_file.h"
#include "recorder/system_call_filters.h"

namespace heaplab::recorder {
namespace {

using word = unsigned long;

constinit next_symbol<int(int, word, word, word, word)> next_prctl("prctl");
constinit next_symbol<long(long, word, word, word, word, word, word)> next_syscall("syscall");

[[gnu::constructor]] void look_up_all() {
  look_up(next_prctl, next_syscall);
}

constexpr int set_filter = 22;  // PR_SET_SECCOMP, whose header declares prctl

template <class Install>
auto with_filter(Install install) {
  const bool first = !calls_are_barred.load(std::memory_order_relaxed);
  if (first) prepare_for_filter();
  calls_are_barred.store(true, std::memory_order_relaxed);
  const auto result = install();
  if (result != 0 && first) calls_are_barred.store(false, std::memory_order_relaxed);
  return result;
}

bool installs_filter(long number, word first) {
  if (number == SYS_prctl) return first == set_filter;
  return number == SYS_seccomp && (first == SECCOMP_SET_MODE_STRICT || first == SECCOMP_SET_MODE_FILTER);
}

}  // namespace
}  // namespace heaplab::recorder

using heaplab::recorder::word;

extern "C" {

HEAPLAB_EXPORT int heaplab_prctl(int option, word a, word b, word c, word d) noexcept asm("prctl");
HEAPLAB_EXPORT long heaplab_syscall(long number, word a, word b, word c, word d, word e, word f) noexcept
    asm("syscall");

int heaplab_prctl(int option, word a, word b, word c, word d) noexcept {
  auto* const next = heaplab::recorder::next_prctl.get();
  if (option != heaplab::recorder::set_filter) return next(option, a, b, c, d);
  return heaplab::recorder::with_filter([=] { return next(option, a, b, c, d); });
}

// The last call is a jump, so that a child of clone or vfork returns to the caller, not here.
long heaplab_syscall(long number, word a, word b, word c, word d, word e, word f) noexcept {
  auto* const next = heaplab::recorder::next_syscall.get();
  if (heaplab::recorder::installs_filter(number, a)) [[unlikely]]
    return heaplab::recorder::with_filter([=] { return next(number, a, b, c, d, e, f); });
  return next(number, a, b, c, d, e, f);
}

}  // extern "C"
