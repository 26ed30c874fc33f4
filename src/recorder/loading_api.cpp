// Notes the mapped files before the program loads or unloads a library, so that each call site can be told by
// what was mapped at its time.
//
// The last call of the functions that load is a jump: the C library looks at the address that it returns to,
// for the search path and the namespace of the library that called.
#include <dlfcn.h>
#include <link.h>

#include "base/compiler.h"
#include "base/errno_keeper.h"
#include "recorder/loaded_code.h"
#include "recorder/next_symbol.h"
#include "recorder/recording.h"

namespace heaplab::recorder {
namespace {

constinit next_symbol<void*(const char*, int)> next_dlopen("dlopen");
constinit next_symbol<void*(Lmid_t, const char*, int)> next_dlmopen("dlmopen");
constinit next_symbol<int(void*)> next_dlclose("dlclose");

[[gnu::constructor]] void look_up_all() {
  look_up(next_dlopen, next_dlmopen, next_dlclose);
}

// The count of loaded and unloaded libraries when the mapped files were last recorded. relaxed: two threads
// that load libraries at the same time may record the files twice.
constinit atomic<std::uint64_t> noted_changes = 0;
// A program that loads and unloads libraries all the time must not fill the disk: some 20 MiB.
constexpr std::uint64_t most_notes = 4096;
constinit atomic<std::uint64_t> notes = 0;  // relaxed: a count

std::uint64_t changes_so_far() {
  std::uint64_t changes = 0;
  const auto first = [](dl_phdr_info* of, std::size_t, void* to) {
    *static_cast<std::uint64_t*>(to) = of->dlpi_adds + of->dlpi_subs;
    return 1;
  };
  dl_iterate_phdr(first, &changes);
  return changes;
}

HEAPLAB_SLOW_PATH void before_change() {
  thread_state& state = this_thread;
  const trace::recording seen = recording_state();
  if (!record_here(state, seen) && !sample_here(state, seen)) return;
  const errno_keeper keep;
  const doing own(state, activity::own);
  const std::uint64_t changes = changes_so_far();
  if (noted_changes.exchange(changes, std::memory_order_relaxed) == changes) return;
  if (notes.fetch_add(1, std::memory_order_relaxed) >= most_notes) return;
  if (enter_process_file(state)) note_modules();
}

}  // namespace
}  // namespace heaplab::recorder

extern "C" {

HEAPLAB_EXPORT void* dlopen(const char* file, int mode) noexcept {
  heaplab::recorder::before_change();
  return heaplab::recorder::next_dlopen.get()(file, mode);
}

HEAPLAB_EXPORT void* dlmopen(Lmid_t space, const char* file, int mode) noexcept {
  heaplab::recorder::before_change();
  return heaplab::recorder::next_dlmopen.get()(space, file, mode);
}

HEAPLAB_EXPORT int dlclose(void* handle) noexcept {
  heaplab::recorder::before_change();
  const int error = heaplab::recorder::next_dlclose.get()(handle);
  // release pairs with the acquire of who looks at code addresses: other code may stand there from now on.
  heaplab::recorder::times_unloaded.fetch_add(1, std::memory_order_release);
  return error;
}

}  // extern "C"
