#include "recorder/process_file.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/bits.h"
#include "base/errno_keeper.h"
#include "recorder/control_block.h"
#include "recorder/mapped_modules.h"
#include "recorder/next_functions.h"
#include "recorder/output_file.h"
#include "recorder/process_description.h"
#include "recorder/spare_chunks.h"
#include "recorder/stacks.h"
#include "recorder/stamp.h"

namespace heaplab::recorder {

using trace::loss;
using trace::raw_chunk;
using trace::raw_record;

namespace {

constexpr std::size_t smallest_chunk = trace::raw_unit;
constexpr unsigned growth_log2 = 2;                    // of a thread's chunks
constexpr std::uint32_t fewest_worth_handing_on = 16;  // free records of a chunk: a stack and its event fit

constinit trace::raw_control unopened_control{.state = not_begun};

constinit atomic<bool> has_begun = false;
constinit pthread_key_t at_thread_exit = 0;
constinit char folder[4096] = {};
constinit spare_chunks spares;

// State of this process. In a child of fork, the thread that opens the child's file resets the state.
constinit char path[sizeof folder + 64] = {};
constinit char modules_path[sizeof path] = {};
constinit output_file file;
constinit trace::raw_header* header = nullptr;
constinit std::uint32_t generation = 0;  // number of forks between the first process and this one
constinit atomic<bool> noting_moment = false;
constinit atomic<bool> recorded_anything = false;
constinit atomic<std::size_t> chunks_handed_out = 0;
// How often chunks may grow. relaxed: a thread that misses a change tries a chunk that finds no room.
constinit atomic<unsigned> most_growth = 3;
// Set for good when no further chunk can be had. relaxed: other threads notice soon enough.
constinit atomic<loss> stopped_because = loss::count;

// --- begin ---

void at_exit_of_thread(void* state);

// Null if nothing is to be recorded or nothing can be.
trace::raw_control* find_control() {
  const char* const given = secure_getenv("HEAPLAB_RECORD");
  if (given == nullptr || strlen(given) >= sizeof folder) return nullptr;
  strcpy(folder, given);
  if (::madvise(&this_process, sizeof this_process, MADV_WIPEONFORK) != 0) return nullptr;
  trace::raw_control* const found = map_control(folder);
  if (found == nullptr || pthread_key_create(&at_thread_exit, at_exit_of_thread) != 0) return nullptr;
  stamps_are_tickets = found->stamps == trace::stamps::tickets;
  stacks_wanted = found->stacks != 0 && prepare_stacks();
  return found;
}

// --- the file of a process ---

void* map_piece(std::uint64_t offset, std::size_t bytes, loss& why) {
  trace::raw_control& shared = *control.load(std::memory_order_acquire);
  return take_from_limit(shared, bytes, why) ? file.map(offset, bytes, why) : nullptr;
}

// Precondition: no other thread is in this function (fork_page::opening).
bool open_file() {
  const trace::raw_moment begun = now();
  spares.forget_all();
  live_blocks.forget_all();
  recorded_anything.store(false, std::memory_order_relaxed);
  file.forget();
  header = nullptr;
  stpcpy(name_process(path, folder, begun), ".raw");
  stpcpy(stpcpy(modules_path, path) - 4, ".maps");
  loss why = loss::file_refused;
  if (file.create(path)) header = static_cast<trace::raw_header*>(map_piece(0, trace::raw_header_bytes, why));
  stopped_because.store(header != nullptr ? loss::count : why, std::memory_order_relaxed);
  if (header != nullptr) describe_process(*header, begun, generation > 0);
  this_process.epoch.store(++generation, std::memory_order_release);
  return header != nullptr;
}

// --- chunks ---

void note_moment() {
  if (noting_moment.exchange(true, std::memory_order_acquire)) return;
  header->latest = now();
  noting_moment.store(false, std::memory_order_release);
}

raw_chunk* map_chunk(std::size_t bytes, std::uint32_t magic, loss& why) {
  const std::uint64_t offset = header->bytes.fetch_add(bytes, std::memory_order_relaxed);
  auto* const chunk = static_cast<raw_chunk*>(map_piece(offset, bytes, why));
  if (chunk == nullptr) return nullptr;
  chunk->bytes = static_cast<std::uint32_t>(bytes);
  chunk->offset = offset;
  // release: if the process is killed here, the file has a whole chunk header or none.
  atomic_ref(chunk->magic).store(magic, std::memory_order_release);
  return chunk;
}

// A chunk for records. The first marks the beginning of the recording.
raw_chunk* new_chunk(std::size_t bytes, loss& why) {
  raw_chunk* const chunk = map_chunk(bytes, trace::chunk_magic, why);
  if (chunk == nullptr) return nullptr;
  // relaxed: the thread that finds false is alone, and the file is read after the recording.
  if (!recorded_anything.exchange(true, std::memory_order_relaxed)) header->begin = now();
  note_moment();
  // relaxed: a count.
  if (is_power_of_two(chunks_handed_out.fetch_add(1, std::memory_order_relaxed) + 1))
    note_modules(modules_path);
  return chunk;
}

// A new chunk, larger than the thread's last. Where the address space is limited, smaller chunks may find
// room.
raw_chunk* chunk_for(thread_state& state, loss& why) {
  const unsigned growth = std::min<unsigned>(state.chunks, most_growth.load(std::memory_order_relaxed));
  raw_chunk* const chunk = new_chunk(smallest_chunk << growth_log2 * growth, why);
  state.chunks = static_cast<std::uint8_t>(growth + 1);
  if (chunk != nullptr || why != loss::no_memory || growth == 0) return chunk;
  most_growth.store(growth - 1, std::memory_order_relaxed);
  return chunk_for(state, why);
}

void use_chunk(thread_state& state, raw_chunk* chunk) {
  auto* const records = reinterpret_cast<raw_record*>(chunk + 1);
  state.chunk = chunk;
  state.next = records + chunk->next;
  state.end = records + (chunk->bytes / sizeof(raw_record) - 1);
  if (state.thread == 0) state.thread = header->threads.fetch_add(1, std::memory_order_relaxed) + 1;
  fill(state.next++, stamp_after(), trace::kind::thread_begin, static_cast<std::uint64_t>(pthread_self()),
       static_cast<std::uint64_t>(::syscall(SYS_gettid)), state.thread);
}

void count_instructions(thread_state& state) {
  const auto executed = state.instructions.take();
  header->instructions.fetch_add(executed.value_or(0), std::memory_order_relaxed);
  header->uncounted_threads.fetch_add(executed ? 0 : 1, std::memory_order_relaxed);
}

void leave(thread_state& state) {
  count_instructions(state);
  raw_chunk* const chunk = state.chunk;
  const auto left = static_cast<std::uint32_t>(state.end - state.next);
  state.chunk = nullptr;
  if (chunk == nullptr) return;
  chunk->next = chunk->bytes / static_cast<std::uint32_t>(sizeof(raw_record)) - 1 - left;
  state.next = state.end = nullptr;
  if (left >= fewest_worth_handing_on) {
    chunk->handed_on = 1;
    if (spares.give(chunk)) return;
  }
  // A thread whose exit handlers have run writes one more record after this call: its chunk stays mapped.
  if (!state.exited) ::munmap(chunk, chunk->bytes);
}

// Resets the `state` of a thread that a fork has copied from another process.
void enter_process(thread_state& state, std::uint32_t epoch) {
  const activity what = state.doing;
  const bool exited = state.exited;
  stack_cache* const stacks = state.stacks;
  state = thread_state{};
  state.stacks = stacks;
  state.doing = what;
  state.exited = exited;
  state.epoch = epoch;
}

bool get_chunk(thread_state& state) {
  loss why = stopped_because.load(std::memory_order_relaxed);
  if (why != loss::count) return false;
  leave(state);
  const bool first = state.thread == 0;
  raw_chunk* chunk = spares.take();
  if (chunk == nullptr) chunk = chunk_for(state, why);
  if (chunk == nullptr) {
    stopped_because.store(why, std::memory_order_relaxed);
    return false;
  }
  use_chunk(state, chunk);
  if (first && !state.exited) {
    pthread_setspecific(at_thread_exit, &state);
    if (control.load(std::memory_order_acquire)->instructions != 0 && !state.instructions.open())
      header->uncounted_threads.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

void at_exit_of_thread(void* argument) {
  thread_state& state = *static_cast<thread_state*>(argument);
  const doing own(state, activity::own);
  if (++state.exit_rounds < last_exit_round) {
    pthread_setspecific(at_thread_exit, &state);
    return;
  }
  if (state.epoch != this_process.epoch.load(std::memory_order_relaxed)) return;
  if (state.chunk != nullptr && state.next != state.end)
    fill(state.next++, stamp_after(), trace::kind::thread_end, 0, 0, 0);
  leave(state);
  drop_stacks(state);
  state.instructions.close();
  state.exited = true;
}

// A process that ends before the window is not of the recording.
void remove_file() {
  ::unlink(path);
  control.load(std::memory_order_acquire)
      ->bytes.fetch_sub(header->bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

[[gnu::destructor]] void at_exit_of_process() {
  if (header == nullptr || this_process.epoch.load(std::memory_order_acquire) == 0) return;
  if (recording_state() == trace::recording::waiting) return remove_file();
  note_modules(modules_path);
  if (this_thread.epoch == this_process.epoch.load(std::memory_order_relaxed))
    count_instructions(this_thread);
  header->latest = now();
  header->ended = 1;
}

}  // namespace

constinit fork_page this_process{};
constinit live_table live_blocks;
constinit atomic<trace::raw_control*> control = &unopened_control;

void begin() {
  if (has_begun.exchange(true, std::memory_order_acq_rel)) return;
  const errno_keeper keep;
  const doing own(this_thread, activity::own);
  next.free(nullptr);  // the first call looks up all functions
  if (trace::raw_control* const found = find_control())
    control.store(found, std::memory_order_release);
  else
    unopened_control.state.store(trace::recording::off, std::memory_order_relaxed);
}

void count_lost(const thread_state& state, loss why) {
  // acquire pairs with the release in open_file.
  if (this_process.epoch.load(std::memory_order_acquire) != 0 && header != nullptr)
    header->lost[state.thread % trace::raw_header::stripes].calls[static_cast<std::size_t>(why)].fetch_add(
        1, std::memory_order_relaxed);
  else
    control.load(std::memory_order_acquire)->without_file.fetch_add(1, std::memory_order_relaxed);
}

bool enter_process_file(thread_state& state) {
  std::uint32_t epoch = this_process.epoch.load(std::memory_order_acquire);
  if (epoch == 0) {
    const bool mine = !this_process.opening.exchange(true, std::memory_order_relaxed);
    if (mine) open_file();
    epoch = this_process.epoch.load(std::memory_order_acquire);
  }
  if (state.epoch != epoch) enter_process(state, epoch);
  return epoch != 0 && header != nullptr;
}

raw_chunk* map_table(std::size_t bytes, loss& why) {
  return map_chunk(bytes, trace::table_magic, why);
}

raw_record* claim_stack(thread_state& state, unsigned count) {
  const bool in_process = state.epoch == this_process.epoch.load(std::memory_order_relaxed);
  const bool fits = in_process && state.end - state.next >= static_cast<std::ptrdiff_t>(count);
  raw_record* const first = fits ? state.next++ : claim_in_next_chunk(state);
  if (first != nullptr) state.next += count - 1;
  return first;
}

raw_record* claim_in_next_chunk(thread_state& state) {
  const errno_keeper keep;
  const doing own(state, activity::own);
  if (!enter_process_file(state) || !get_chunk(state)) {
    const loss why = stopped_because.load(std::memory_order_relaxed);
    count_lost(state, why == loss::count ? loss::file_refused : why);
    return nullptr;
  }
  raw_record* const record = state.next++;
  if (state.exited) leave(state);
  return record;
}

}  // namespace heaplab::recorder
