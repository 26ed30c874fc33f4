// What docs/trace-format.md demands of the events of a process one after another. Checksums prove that a file
// is as it was written; these rules find what was written wrong.
#pragma once

#include <cstdint>
#include <string>

#include "trace/raw/event.h"

namespace heaplab::trace {

// No block reaches further: processors have 57 bits of virtual addresses at most.
inline constexpr std::uint64_t address_space = std::uint64_t{1} << 57;

class event_rules {
public:
  void see(const event& e) {
    stamp_ = e.stamp;
    if (e.thread > threads_) threads_ = e.thread;
  }

  // Whether the event may follow those seen. `sites` is the number of call sites that are known by then.
  bool may_follow(const event& e, std::uint64_t sites) const {
    const bool is_new_thread = e.thread > threads_;
    return is_known(e.kind) && e.stamp >= stamp_ && e.site <= sites && e.alignment_log2 < 57 &&
           is_thread(e) && has_block(e) && (e.kind != kind::thread_begin || is_new_thread || incomplete_);
  }

  std::uint32_t threads() const { return threads_; }  // numbered so far

  // Why the event may not follow.
  std::string fault_of(const event& e, std::uint64_t sites) const;

  // Events are missing before the next, among them perhaps the first ones of threads.
  void skip() { incomplete_ = true; }

  // Whether the block may have lived before the first event.
  static bool may_live(const event& block, const event* before) {
    return is_acquisition(block.kind) && block.thread == 0 && block.address != 0 && has_block(block) &&
           (before == nullptr || (block.address > before->address && block.stamp == before->stamp));
  }

private:
  bool is_thread(const event& e) const {
    return e.thread != 0 && (e.thread <= threads_ + std::uint64_t{1} || incomplete_);
  }

  // An acquisition may fail, and then names any size. What is no block is a thread, numbered by 32 bits.
  static bool has_block(const event& e) {
    if (is_release(e.kind)) return e.address != 0 && e.address < address_space;
    if (is_acquisition(e.kind))
      return e.address < address_space && (e.address == 0 || e.size <= address_space - e.address);
    return e.address <= UINT32_MAX && e.alignment_log2 == 0;
  }

  std::uint64_t stamp_ = 0;
  std::uint32_t threads_ = 0;
  bool incomplete_ = false;
};

}  // namespace heaplab::trace
