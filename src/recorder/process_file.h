// The file of this process: handed out to threads chunk by chunk, without a lock.
//
// A child of fork has a copy of its parent's memory but for three things: it must not write into its parent's
// file, it has no other threads, and locks held by these are never released. So the mapped chunks are left
// out of the copy (MADV_DONTFORK), a page that the system zeroes in a child (MADV_WIPEONFORK) tells each call
// that it is in another process, there is no lock, and the child opens a file of its own at its first call. A
// child of vfork or posix_spawn shares its parent's memory until it executes a program: its calls count as
// its parent's.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/compiler.h"
#include "recorder/thread_state.h"
#include "trace/raw_file.h"

namespace heaplab::recorder {

// Zero in a child of fork.
struct alignas(4096) fork_page {
  // Number of the process among its parents, 0 until its file is open. release/acquire: who sees it sees the
  // file.
  atomic<std::uint32_t> epoch = 0;
  // relaxed: only the one who changes it from false opens the file.
  atomic<bool> opening = false;
  char rest[4096 - 8];
};
extern constinit fork_page this_process;

// Where to, set once. Its state says whether to record; `begin` not yet called: neither on nor off.
extern constinit atomic<trace::raw_control*> control;

HEAPLAB_FAST_PATH trace::recording recording_state() {
  // acquire pairs with the release in begin. The state itself: see raw_control.
  return control.load(std::memory_order_acquire)->state.load(std::memory_order_relaxed);
}

inline constexpr auto not_begun = static_cast<trace::recording>(3);

// Looks up where to record. Calls by other threads meanwhile pass unrecorded.
void begin();

HEAPLAB_SLOW_PATH trace::raw_record* claim_in_next_chunk(thread_state& state);

// The thread's next record; null where there is none, and then the call is counted as lost.
HEAPLAB_FAST_PATH trace::raw_record* claim(thread_state& state) {
  // relaxed: equal numbers mean that this thread itself has seen the file open.
  const bool here_before = state.epoch == this_process.epoch.load(std::memory_order_relaxed);
  if (!here_before || state.next == state.end) [[unlikely]]
    return claim_in_next_chunk(state);
  return state.next++;
}

HEAPLAB_SLOW_PATH void count_lost(const thread_state& state, trace::loss why);

HEAPLAB_FAST_PATH void fill(trace::raw_record* record, std::uint64_t stamp, trace::kind kind,
                            std::uint64_t address, std::uint64_t size, std::uint64_t site,
                            std::uint8_t alignment_log2 = 0) {
  if (record == nullptr) [[unlikely]]
    return;
  record->what = trace::pack(address, kind, alignment_log2);
  record->size = size;
  record->site = site;
  // release: a process killed here has written the whole record or none that is valid.
  atomic_ref(record->stamp).store(stamp, std::memory_order_release);
}

}  // namespace heaplab::recorder
