#include "trace/file/event_rules.h"

namespace heaplab::trace {

std::string event_rules::fault_of(const event& e, std::uint64_t sites) const {
  if (!is_known(e.kind)) return "an event of kind " + std::to_string(static_cast<unsigned>(e.kind));
  const std::string what(name_of(e.kind));
  if (e.stamp < stamp_)
    return what + " with stamp " + std::to_string(e.stamp) + " behind stamp " + std::to_string(stamp_);
  if (e.thread == 0) return what + " by thread 0, and threads are numbered from 1";
  if (!is_thread(e))
    return what + " by thread " + std::to_string(e.thread) + ", and there are " + std::to_string(threads_) +
           " threads before";
  if (e.site > sites)
    return what + " at call site " + std::to_string(e.site) + ", and there are " + std::to_string(sites);
  if (e.alignment_log2 >= 57) return what + " aligned to 2^" + std::to_string(e.alignment_log2);
  if (is_release(e.kind) && e.address == 0) return what + " of address 0";
  if (!has_block(e) && (is_release(e.kind) || is_acquisition(e.kind)))
    return what + " of " + std::to_string(e.size) + " bytes at address " + std::to_string(e.address) +
           ", where no address space is";
  if (!has_block(e)) return what + " about thread " + std::to_string(e.address);
  return what + " of thread " + std::to_string(e.thread) + ", which has events before";
}

}  // namespace heaplab::trace
