// Events of a frame as columns of bytes, which zstd compresses better than records.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/file/varint.h"
#include "trace/raw/event.h"

namespace heaplab::trace {

// Precondition: stamps do not descend. The first stamp is that of the frame's header.
bytes encode_events(std::span<const event> events);

// Fills `events` with `count` events. False: the columns do not hold exactly `count` events. What an event
// means is not looked at (event_rules.h).
bool decode_events(std::span<const std::uint8_t> payload, std::uint32_t count, std::uint64_t first_stamp,
                   std::vector<event>& events);

}  // namespace heaplab::trace
