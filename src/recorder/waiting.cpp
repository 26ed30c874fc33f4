#include "recorder/waiting.h"

#include "base/errno_keeper.h"
#include "recorder/process_file.h"

namespace heaplab::recorder {

bool grow_live_blocks() {
  const std::size_t bytes = live_blocks.next_bytes();
  trace::raw_chunk* const level = bytes == 0 ? nullptr : map_table(bytes, trace::table_magic);
  return level != nullptr && live_blocks.add(level);
}

void remember(thread_state& state, const trace::raw_live_block& block) {
  const errno_keeper keep;
  const doing own(state, activity::own);
  if (!enter_process_file(state)) return count_lost(state, why_no_chunk());
  while (!live_blocks.put(block))
    if (!grow_live_blocks()) return count_lost(state, why_no_chunk());
}

std::optional<trace::raw_live_block> forget(thread_state& state, std::uint64_t address) {
  if (!enter_process_file(state)) return std::nullopt;
  return live_blocks.take(address);
}

}  // namespace heaplab::recorder
