#include "trace/finish/thread_cursor.h"

#include <algorithm>

namespace heaplab::trace {

namespace {

// 32 KiB, which is small because a trace may have thousands of threads
constexpr std::size_t window_records = 1024;

bool is_shrink_or_grow(kind k) {
  return k == kind::realloc_from || k == kind::reallocarray_from;
}

}  // namespace

bool thread_cursor::refill() {
  while (segment_ < thread_->segments.size()) {
    const raw_process::segment& segment = thread_->segments[segment_];
    const std::size_t left = segment.records - taken_;
    window_.resize(std::min(left, window_records));
    window_.resize(left == 0 ? 0
                             : process_->read(segment.offset + taken_ * sizeof(raw_record), window_.data(),
                                              window_.size()));
    taken_ += static_cast<std::uint32_t>(window_.size());
    at_ = 0;
    if (!window_.empty()) return true;
    ++segment_;
    taken_ = 0;
  }
  std::vector<raw_record>().swap(window_);
  return false;
}

// The next valid record. Invalid records are zeros: they follow the last record, or stand where a process was
// killed.
bool thread_cursor::read(raw_record& record) {
  for (;;) {
    if (at_ == window_.size() && !refill()) return false;
    record = window_[at_++];
    if (record.stamp == 0 || kind_of(record) == stack_part) continue;
    const bool again = begun_ && kind_of(record) == kind::thread_begin;
    begun_ = true;
    if (again) continue;
    record.stamp = stamp_ = std::max(stamp_, record.stamp);
    return true;
  }
}

bool thread_cursor::next(raw_record& record) {
  if (held_back_) {
    held_back_ = false;
    record = held_;
    return true;
  }
  if (!read(record)) return false;
  if (!is_shrink_or_grow(kind_of(record))) return true;
  if (!read(held_)) return true;
  held_back_ = true;
  // `held_` is the thread's next record: the other half of the reallocation, or another event.
  if (!is_growth(kind_of(held_)) || address_of(held_) != 0) return true;
  held_back_ = false;
  if (held_.size != 0) record = held_;  // the realloc failed: the old block lives on
  return true;                          // size 0: `record` is still the release, and there is no new block
}

}  // namespace heaplab::trace
