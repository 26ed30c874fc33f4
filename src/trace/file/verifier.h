// Checks the order of a process's events: no thread may acquire a block that is live, or release a block that
// is not.
#pragma once

#include <algorithm>
#include <cstdint>

#include "trace/file/address_table.h"
#include "trace/raw/event.h"

namespace heaplab::trace {

struct verdict {
  std::uint64_t events = 0;
  std::uint64_t acquisitions = 0;
  std::uint64_t releases = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes_acquired = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_blocks = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_blocks = 0;
  std::uint64_t acquired_while_live = 0;  // 0, unless events are missing or in the wrong order
  std::uint64_t released_unknown = 0;     // likewise
  std::uint64_t lived_blocks = 0;         // blocks that lived when the recording began, and their bytes
  std::uint64_t lived_bytes = 0;
  std::uint64_t released_inherited = 0;  // releases of blocks that a child of fork inherited from its parent
};

class verifier {
public:
  // `inherits`: the process began with blocks that the verifier is not told of.
  explicit verifier(bool inherits) : inherits_(inherits) {}

  // A block that lived before the first event.
  void lived(const event& block) {
    ++counts_.lived_blocks;
    counts_.lived_bytes += block.size;
    enter(block);
  }

  void see(const event& e) {
    ++counts_.events;
    if (is_acquisition(e.kind)) acquired(e);
    if (is_release(e.kind)) released(e);
  }

  const verdict& counts() const { return counts_; }

private:
  void acquired(const event& e) {
    if (e.address == 0) {
      ++counts_.failed;
      return;
    }
    ++counts_.acquisitions;
    counts_.bytes_acquired += e.size;
    enter(e);
  }

  void enter(const event& e) {
    counts_.live_bytes += e.size;
    if (const auto before = live_.put(e.address, e.size)) {
      ++counts_.acquired_while_live;
      counts_.live_bytes -= *before;
    }
    counts_.live_blocks = live_.size();
    counts_.peak_bytes = std::max(counts_.peak_bytes, counts_.live_bytes);
    counts_.peak_blocks = std::max(counts_.peak_blocks, counts_.live_blocks);
  }

  void released(const event& e) {
    ++counts_.releases;
    if (const auto size = live_.take(e.address))
      counts_.live_bytes -= *size;
    else
      ++(inherits_ ? counts_.released_inherited : counts_.released_unknown);
    counts_.live_blocks = live_.size();
  }

  bool inherits_;
  verdict counts_;
  address_table live_;
};

}  // namespace heaplab::trace
