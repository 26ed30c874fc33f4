// What the verifier counted, as properties of a process's last frame.
#pragma once

#include "trace/file/properties.h"
#include "trace/file/verifier.h"

namespace heaplab::trace {

inline properties summary_of(const verdict& counts) {
  properties out;
  out.set("events", counts.events);
  out.set("acquisitions", counts.acquisitions);
  out.set("releases", counts.releases);
  out.set("failed", counts.failed);
  out.set("bytes_acquired", counts.bytes_acquired);
  out.set("live_bytes", counts.live_bytes);
  out.set("live_blocks", counts.live_blocks);
  out.set("peak_bytes", counts.peak_bytes);
  out.set("peak_blocks", counts.peak_blocks);
  out.set("acquired_while_live", counts.acquired_while_live);
  out.set("released_unknown", counts.released_unknown);
  out.set("lived_blocks", counts.lived_blocks);
  out.set("lived_bytes", counts.lived_bytes);
  out.set("released_inherited", counts.released_inherited);
  return out;
}

}  // namespace heaplab::trace
