// The file of this process. Threads get it chunk by chunk, without a lock.
//
// A child of fork has a copy of its parent's memory, with three consequences: the child must not write into
// its parent's file, it has no other threads, and a lock held by one of them would never be released.
// Therefore the mapped chunks are left out of the copy (MADV_DONTFORK); a page that the system zeroes in a
// child (MADV_WIPEONFORK) tells each call that it runs in a new process; there is no lock; and the child
// opens a file of its own at its first call. A child of vfork or posix_spawn shares its parent's memory until
// it executes a program: its calls count as its parent's.
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "base/atomic.h"
#include "base/compiler.h"
#include "recorder/live_table.h"
#include "recorder/thread_state.h"
#include "trace/raw/raw_file.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace heaplab::recorder {

// All members are zero in a child of fork.
struct alignas(4096) fork_page {
  // Number of forks up to this process, plus 1; 0 until the file of the process is open. release/acquire: a
  // thread that sees the number sees the file.
  atomic<std::uint32_t> epoch = 0;
  // Set while a thread opens the file, and from then on. acquire/release: a thread that tries again sees what
  // the last has left.
  atomic<bool> opening = false;
  bool tried_before = false;  // only the thread that opens the file looks
  char rest[4096 - 8];
};
extern constinit fork_page this_process;

// The control block of the recording, set once. Its state says whether to record; before begin() the state is
// neither on nor off.
[[gnu::visibility("hidden")]] extern constinit atomic<trace::raw_control*> control;

HEAPLAB_FAST_PATH trace::recording recording_state() {
  // acquire pairs with the release in begin. The order of the state: see raw_control.
  return control.load(std::memory_order_acquire)->state.load(std::memory_order_relaxed);
}

inline constexpr auto not_begun = static_cast<trace::recording>(3);

// In the file of this process.
extern constinit live_table live_blocks;

// True if this process has a file. The thread's state then belongs to this process. Opens the file if need
// be.
bool enter_process_file(thread_state& state);

// A zeroed table; null if it cannot be had.
trace::raw_chunk* map_table(std::size_t bytes, std::uint32_t magic);

// Why a thread of this process was refused a chunk.
trace::loss why_no_chunk();

// Looks up where to record. Calls of other threads meanwhile are not recorded.
void begin();

// Of the recording; empty before begin().
const char* recording_folder();

// Begins another recording, in a process that runs already. Calls of other threads meanwhile are not
// recorded. False: the folder has no recording that this process can take part in.
bool begin_again(const char* in_folder);

// Before and after the program installs a filter of system calls (system_call_filters.h).
void prepare_for_filter();

// Appends the files that are mapped now to those that the recording knows (mapped_modules.h).
void note_modules();

HEAPLAB_SLOW_PATH trace::raw_record* claim_in_next_chunk(thread_state& state);

// The thread's next record, or null if there is none; the call is then counted as lost.
HEAPLAB_FAST_PATH trace::raw_record* claim(thread_state& state) {
  // relaxed: equal numbers mean that this thread itself has seen the file open.
  const bool entered_before = state.epoch == this_process.epoch.load(std::memory_order_relaxed);
  if (!entered_before || state.next == state.end) [[unlikely]]
    return claim_in_next_chunk(state);
  return state.next++;
}

// Records that follow each other in the thread's chunk, for a stack; null if there are none. Precondition:
// the thread has not ended.
trace::raw_record* claim_stack(thread_state& state, unsigned count);

HEAPLAB_SLOW_PATH void count_lost(const thread_state& state, trace::loss why);

HEAPLAB_FAST_PATH void fill(trace::raw_record* record, std::uint64_t stamp,
                            const trace::raw_live_block& content) {
  if (record == nullptr) [[unlikely]]
    return;
  record->what = content.what;
  record->size = content.size;
  record->site = content.site;
  // release: if the process is killed here, the record is complete or invalid.
  atomic_ref(record->stamp).store(stamp, std::memory_order_release);
}

HEAPLAB_FAST_PATH void fill(trace::raw_record* record, std::uint64_t stamp, trace::kind kind,
                            std::uint64_t address, std::uint64_t size, std::uint64_t site) {
  fill(record, stamp, {trace::pack(address, kind, 0), size, site});
}

}  // namespace heaplab::recorder
