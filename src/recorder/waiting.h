// Calls while the recording waits for its window: blocks that live are remembered (live_table.h).
#pragma once

#include <cstdint>
#include <optional>

#include "base/compiler.h"
#include "recorder/thread_state.h"
#include "trace/raw/raw_file.h"

namespace heaplab::recorder {

// A block that cannot be remembered is counted as lost.
HEAPLAB_SLOW_PATH void remember(thread_state& state, const trace::raw_live_block& block);

// Adds a table to live_blocks. False: it cannot be had.
bool grow_live_blocks();

// Removes and returns what remember() kept for the block at the address.
HEAPLAB_SLOW_PATH std::optional<trace::raw_live_block> forget(thread_state& state, std::uint64_t address);

}  // namespace heaplab::recorder
