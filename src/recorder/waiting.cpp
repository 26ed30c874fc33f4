#include "recorder/waiting.h"

#include "base/atomic.h"
#include "base/errno_keeper.h"
#include "recorder/process_file.h"

namespace heaplab::recorder {

namespace {

// Set for good when no further table can be had. relaxed: other threads notice soon enough.
constinit atomic<trace::loss> stopped_because = trace::loss::count;

// Adds a table to live_blocks.
bool grow() {
  trace::loss why = stopped_because.load(std::memory_order_relaxed);
  if (why != trace::loss::count) return false;
  why = trace::loss::no_memory;
  const std::size_t bytes = live_blocks.next_bytes();
  trace::raw_chunk* const level = bytes == 0 ? nullptr : map_table(bytes, why);
  if (level != nullptr && live_blocks.add(level)) return true;
  stopped_because.store(why, std::memory_order_relaxed);
  return false;
}

}  // namespace

void remember(thread_state& state, const trace::raw_live_block& block) {
  const errno_keeper keep;
  const doing own(state, activity::own);
  if (!enter_process_file(state)) return count_lost(state, trace::loss::file_refused);
  while (!live_blocks.put(block))
    if (!grow()) return count_lost(state, stopped_because.load(std::memory_order_relaxed));
}

std::optional<trace::raw_live_block> forget(thread_state& state, std::uint64_t address) {
  if (!enter_process_file(state)) return std::nullopt;
  return live_blocks.take(address);
}

}  // namespace heaplab::recorder
