#include "recorder/process_file.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assertion.h"
#include "base/bits.h"
#include "base/errno_keeper.h"
#include "base/os_pages.h"
#include "recorder/control_block.h"
#include "recorder/loaded_code.h"
#include "recorder/mapped_modules.h"
#include "recorder/next_functions.h"
#include "recorder/output_file.h"
#include "recorder/process_description.h"
#include "recorder/sampling.h"
#include "recorder/spare_chunks.h"
#include "recorder/stacks.h"
#include "recorder/stamp.h"
#include "recorder/system_call_filters.h"

namespace heaplab::recorder {

using trace::loss;
using trace::raw_chunk;
using trace::raw_record;

namespace {

// Chunks begin and end at page bounds, so that each can be unmapped alone.
constexpr std::size_t smallest_chunk = std::max(trace::raw_unit, os_pages::largest_page_bytes);
constexpr unsigned growth_log2 = 2;                    // of a thread's chunks
constexpr std::uint32_t fewest_worth_handing_on = 16;  // free records of a chunk: a stack and its event fit
// Chunks mapped before a program filters its system calls: 16 MiB, half a million records.
constexpr int chunks_behind_filter = 16;
constexpr std::size_t chunk_behind_filter = std::size_t{1} << 20;

constinit trace::raw_control unopened_control{.state = not_begun};

constinit atomic<bool> has_begun = false;
constinit pthread_key_t at_thread_exit = 0;
constinit bool has_key = false;
constinit char folder[4096] = {};
constinit spare_chunks spares;

// State of this process. In a child of fork, the thread that opens the child's file resets the state.
constinit char path[sizeof folder + 64] = {};
constinit char modules_path[sizeof path] = {};
constinit output_file file;
constinit trace::raw_header* header = nullptr;
// Number of files of this process and of those that it was forked from, one before the other.
constinit std::uint32_t generation = 0;
constinit std::uint32_t generation_here = 1;  // of the file that this process began itself, not as a copy
constinit atomic<bool> noting_moment = false;
constinit atomic<bool> recorded_anything = false;
constinit atomic<std::size_t> chunks_handed_out = 0;
// How often chunks may grow. relaxed: a thread that misses a change tries a chunk that finds no room.
constinit atomic<unsigned> most_growth = 3;
// Why the last chunk was refused; loss::count: it was not. relaxed: other threads notice soon enough.
constinit atomic<loss> refused_because = loss::count;
// The last reason. Stays when another thread is given a chunk: a thread that was refused tells it afterwards.
constinit atomic<loss> last_reason = loss::refused;
constinit atomic<std::uint32_t> lost_since = 0;  // calls, since a chunk was refused; relaxed: a count

// --- begin ---

void at_exit_of_thread(void* state);

// Null if nothing is to be recorded or nothing can be.
trace::raw_control* find_control(const char* given, trace::raw_control* at) {
  if (given == nullptr || strlen(given) >= sizeof folder) return nullptr;
  if (::madvise(&this_process, sizeof this_process, MADV_WIPEONFORK) != 0) return nullptr;
  if (!has_key) has_key = pthread_key_create(&at_thread_exit, at_exit_of_thread) == 0;
  trace::raw_control* const found = has_key ? map_control(given, at) : nullptr;
  if (found == nullptr) return nullptr;
  strcpy(folder, given);
  if (filters_here() > found->filters) {
    found->filtered.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  stamps_are_tickets = found->stamps == trace::stamps::tickets;
  if (found->sample_bytes != 0 && !prepare_sampling(*found)) return nullptr;
  stacks_wanted = found->stacks != 0 && prepare_stacks();
  return found;
}

// --- the file of a process ---

void refuse(const refusal& refused) {
  refused_because.store(refused.why, std::memory_order_relaxed);
  last_reason.store(refused.why, std::memory_order_relaxed);
  const auto error = static_cast<std::uint32_t>(refused.error);
  control.load(std::memory_order_acquire)->error.store(error, std::memory_order_relaxed);
  if (header != nullptr) header->error.store(error, std::memory_order_relaxed);
}

// Ends a recording that nobody else would end.
void end_without_keeper() {
  trace::raw_control& shared = *control.load(std::memory_order_acquire);
  if (shared.keeper == 0 || ::kill(static_cast<pid_t>(shared.keeper), 0) == 0 || errno != ESRCH) return;
  shared.state.store(trace::recording::off, std::memory_order_relaxed);
}

// Whether to ask for what was refused before: ever more seldom, but never given up, except where the
// recording has reached its limit.
bool may_ask() {
  const loss why = refused_because.load(std::memory_order_relaxed);
  if (!may_call_system() || why == loss::size_limit) return false;
  end_without_keeper();
  if (why == loss::count) return true;
  constexpr std::uint32_t most_calls_between = 4096;
  const std::uint32_t calls = lost_since.fetch_add(1, std::memory_order_relaxed) + 1;
  return is_power_of_two(calls) || calls % most_calls_between == 0;
}

void* map_piece(std::uint64_t offset, std::size_t bytes, refusal& refused) {
  trace::raw_control& shared = *control.load(std::memory_order_acquire);
  if (!take_from_limit(shared, bytes)) return refused = {loss::size_limit, 0}, nullptr;
  void* const piece = file.map(offset, bytes, refused);
  if (piece == nullptr) give_back_to_limit(shared, bytes);
  return piece;
}

// What a child of fork has copied from its parent is not of the child.
void forget_parent() {
  spares.forget_all();
  live_blocks.forget_all();
  forget_sites();
  recorded_anything.store(false, std::memory_order_relaxed);
  refused_because.store(loss::count, std::memory_order_relaxed);
  last_reason.store(loss::refused, std::memory_order_relaxed);
  lost_since.store(0, std::memory_order_relaxed);
  file.forget();
  header = nullptr;
  ++generation;
}

// Precondition: no other thread is in this function (fork_page::opening).
bool open_file() {
  if (!std::exchange(this_process.tried_before, true)) forget_parent();
  if (!may_ask()) return false;
  const trace::raw_moment begun = now();
  stpcpy(name_process(path, folder, begun), ".raw");
  stpcpy(stpcpy(modules_path, path) - 4, ".maps");
  refusal refused;
  trace::raw_header* made = nullptr;
  if (file.create(path, refused)) {
    made = static_cast<trace::raw_header*>(map_piece(0, trace::raw_header_bytes, refused));
    if (made == nullptr) file.discard(path);
  }
  if (made == nullptr) return refuse(refused), false;
  refused_because.store(loss::count, std::memory_order_relaxed);
  header = made;
  describe_process(*header, begun, generation != generation_here);
  this_process.epoch.store(generation, std::memory_order_release);
  return true;
}

// --- chunks ---

void note_moment() {
  if (noting_moment.exchange(true, std::memory_order_acquire)) return;
  header->latest = now();
  noting_moment.store(false, std::memory_order_release);
}

// relaxed: each chunk describes itself.
std::uint64_t take_place(std::size_t bytes) {
  std::uint64_t end = header->bytes.load(std::memory_order_relaxed);
  std::uint64_t place = file.place_for(end, bytes);
  while (!header->bytes.compare_exchange_weak(end, place + bytes, std::memory_order_relaxed,
                                              std::memory_order_relaxed))
    place = file.place_for(end, bytes);
  return place;
}

// Unless another thread has taken a place behind: then a hole remains, which takes no room on the disk.
void give_place_back(std::uint64_t place, std::size_t bytes) {
  std::uint64_t end = place + bytes;
  header->bytes.compare_exchange_strong(end, place, std::memory_order_relaxed, std::memory_order_relaxed);
}

raw_chunk* map_chunk(std::size_t bytes, std::uint32_t magic, refusal& refused) {
  HEAPLAB_ASSERT(bytes % smallest_chunk == 0 && bytes > 0);
  const std::uint64_t offset = take_place(bytes);
  auto* const chunk = static_cast<raw_chunk*>(map_piece(offset, bytes, refused));
  if (chunk == nullptr) return give_place_back(offset, bytes), nullptr;
  refused_because.store(loss::count, std::memory_order_relaxed);
  lost_since.store(0, std::memory_order_relaxed);
  chunk->bytes = static_cast<std::uint32_t>(bytes);
  chunk->offset = offset;
  // release: if the process is killed here, the file has a whole chunk header or none.
  atomic_ref(chunk->magic).store(magic, std::memory_order_release);
  return chunk;
}

// A chunk for records. The first marks the beginning of the recording.
raw_chunk* new_chunk(std::size_t bytes, refusal& refused) {
  raw_chunk* const chunk = map_chunk(bytes, trace::chunk_magic, refused);
  if (chunk == nullptr) return nullptr;
  // relaxed: a single thread finds false and writes the header, which is read after the recording only.
  if (!recorded_anything.exchange(true, std::memory_order_relaxed)) header->begin = now();
  note_moment();
  // relaxed: a count.
  if (is_power_of_two(chunks_handed_out.fetch_add(1, std::memory_order_relaxed) + 1)) note_modules();
  return chunk;
}

// A new chunk, larger than the thread's last. Where the address space is limited, smaller chunks may find
// room.
raw_chunk* chunk_for(thread_state& state) {
  if (!may_ask()) return nullptr;
  refusal refused;
  unsigned growth = std::min<unsigned>(state.chunks, most_growth.load(std::memory_order_relaxed));
  raw_chunk* chunk = new_chunk(smallest_chunk << growth_log2 * growth, refused);
  while (chunk == nullptr && refused.why == loss::no_memory && growth > 0) {
    most_growth.store(--growth, std::memory_order_relaxed);
    chunk = new_chunk(smallest_chunk << growth_log2 * growth, refused);
  }
  state.chunks = static_cast<std::uint8_t>(growth + 1);
  if (chunk == nullptr) refuse(refused);
  return chunk;
}

void use_chunk(thread_state& state, raw_chunk* chunk) {
  auto* const records = reinterpret_cast<raw_record*>(chunk + 1);
  state.chunk = chunk;
  state.next = records + chunk->next;
  state.end = records + (chunk->bytes / sizeof(raw_record) - 1);
  if (state.thread == 0) state.thread = header->threads.fetch_add(1, std::memory_order_relaxed) + 1;
  const long system_id = may_call_system() ? ::syscall(SYS_gettid) : 0;
  fill(state.next++, stamp_after(), trace::kind::thread_begin, static_cast<std::uint64_t>(pthread_self()),
       static_cast<std::uint64_t>(system_id), state.thread);
}

void count_instructions(thread_state& state) {
  const auto taken = state.instructions.take();
  header->instructions.fetch_add(taken.value_or(0), std::memory_order_relaxed);
  header->uncounted_threads.fetch_add(taken ? 0 : 1, std::memory_order_relaxed);
}

void leave(thread_state& state) {
  count_instructions(state);
  raw_chunk* const chunk = state.chunk;
  const auto left = static_cast<std::uint32_t>(state.end - state.next);
  state.chunk = nullptr;
  state.next = state.end = nullptr;
  // 0: the recording has ended, and the memory of its file was taken back.
  if (chunk == nullptr || chunk->bytes == 0) return;
  chunk->next = chunk->bytes / static_cast<std::uint32_t>(sizeof(raw_record)) - 1 - left;
  if (left >= fewest_worth_handing_on) {
    chunk->handed_on = 1;
    if (spares.give(chunk)) return;
  }
  // A thread whose exit handlers have run writes one more record after this call: its chunk stays mapped.
  if (!state.exited && may_call_system()) ::munmap(chunk, chunk->bytes);
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
  leave(state);
  const bool first = state.thread == 0;
  raw_chunk* chunk = spares.take();
  if (chunk == nullptr || chunk->bytes == 0) chunk = chunk_for(state);
  if (chunk == nullptr) return false;
  use_chunk(state, chunk);
  if (first && !state.exited) {
    pthread_setspecific(at_thread_exit, &state);
    const bool counts = control.load(std::memory_order_acquire)->instructions != 0;
    if (counts && !(may_call_system() && state.instructions.open()))
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
  state.exited = true;
  if (!may_call_system()) return;
  drop_stacks(state);
  state.instructions.close();
}

// A process that ends before the window is not of the recording.
void remove_file() {
  ::unlink(path);
  control.load(std::memory_order_acquire)
      ->bytes.fetch_sub(header->bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

[[gnu::destructor]] void at_exit_of_process() {
  if (header == nullptr || this_process.epoch.load(std::memory_order_acquire) == 0) return;
  header->ended = 1;
  if (this_thread.epoch == this_process.epoch.load(std::memory_order_relaxed))
    count_instructions(this_thread);
  if (!may_call_system()) return;
  if (recording_state() == trace::recording::waiting) return remove_file();
  const doing own(this_thread, activity::own);
  note_modules();
  header->latest = now();
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
  if (trace::raw_control* const found = find_control(secure_getenv("HEAPLAB_RECORD"), nullptr))
    control.store(found, std::memory_order_release);
  else
    unopened_control.state.store(trace::recording::off, std::memory_order_relaxed);
}

const char* recording_folder() {
  return folder;
}

bool begin_again(const char* in_folder) {
  const errno_keeper keep;
  const doing own(this_thread, activity::own);
  trace::raw_control* const before = control.load(std::memory_order_acquire);
  has_begun.store(true, std::memory_order_release);
  // The new block takes the place of the old one, which a thread may be about to read. It says: off.
  trace::raw_control* const found = find_control(in_folder, before == &unopened_control ? nullptr : before);
  if (found == nullptr) return false;
  control.store(found, std::memory_order_release);
  // No thread's state and no stack in a cache is of the file that is opened next.
  generation_here = generation + 1;
  times_unloaded.fetch_add(1, std::memory_order_release);
  this_process.tried_before = false;
  this_process.epoch.store(0, std::memory_order_release);
  this_process.opening.store(false, std::memory_order_release);
  return enter_process_file(this_thread);  // while no thread has calls to record
}

void count_lost(const thread_state& state, loss why) {
  // acquire pairs with the release in open_file.
  if (this_process.epoch.load(std::memory_order_acquire) != 0 && header != nullptr)
    header->lost[state.thread % trace::raw_header::stripes].calls[static_cast<std::size_t>(why)].fetch_add(
        1, std::memory_order_relaxed);
  else
    control.load(std::memory_order_acquire)
        ->without_file[static_cast<std::size_t>(why)]
        .fetch_add(1, std::memory_order_relaxed);
}

bool enter_process_file(thread_state& state) {
  std::uint32_t epoch = this_process.epoch.load(std::memory_order_acquire);
  if (epoch == 0 && !this_process.opening.exchange(true, std::memory_order_acquire)) {
    if (!open_file()) this_process.opening.store(false, std::memory_order_release);
    epoch = this_process.epoch.load(std::memory_order_acquire);
  }
  if (epoch == 0) return false;
  if (state.epoch != epoch) enter_process(state, epoch);
  return true;
}

raw_chunk* map_table(std::size_t bytes, std::uint32_t magic) {
  if (!may_ask()) return nullptr;
  refusal refused;
  raw_chunk* const table = map_chunk(align_up(bytes, smallest_chunk), magic, refused);
  if (table == nullptr) refuse(refused);
  return table;
}

loss why_no_chunk() {
  return may_call_system() ? last_reason.load(std::memory_order_relaxed) : loss::calls_barred;
}

void note_modules() {
  // After the end of the recording, nothing may appear in its folder.
  const trace::recording state = recording_state();
  const bool goes_on = state == trace::recording::on || state == trace::recording::sampling;
  if (may_call_system() && goes_on) append_modules(modules_path, stamp_after());
}

void prepare_for_filter() {
  thread_state& state = this_thread;
  const errno_keeper keep;
  const bool samples = recording_state() == trace::recording::sampling;
  if ((recording_state() != trace::recording::on && !samples) || state.doing != activity::none) return;
  const doing own(state, activity::own);
  if (!enter_process_file(state)) return;
  note_modules();
  if (samples) return reserve_sample_tables();
  while (spares.count() < chunks_behind_filter && may_ask()) {
    refusal refused;
    raw_chunk* const chunk = new_chunk(chunk_behind_filter, refused);
    if (chunk == nullptr) return refuse(refused);
    if (!spares.give(chunk)) return;
  }
}

raw_record* claim_stack(thread_state& state, unsigned count) {
  HEAPLAB_ASSERT(!state.exited && count > 0 && count < fewest_worth_handing_on);
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
    count_lost(state, why_no_chunk());
    return nullptr;
  }
  raw_record* const record = state.next++;
  if (state.exited) leave(state);
  return record;
}

}  // namespace heaplab::recorder
