#include "trace/finish/merged_events.h"

#include <utility>

namespace heaplab::trace {

bool merged_events::head::later_than(const head& other) const {
  if (record.stamp != other.record.stamp) return record.stamp > other.record.stamp;
  const bool release = is_release(kind_of(record));
  const bool other_release = is_release(kind_of(other.record));
  return release != other_release ? other_release : thread > other.thread;
}

merged_events::merged_events(const raw_process& process, numbering site_number)
    : process_(process), site_number_(std::move(site_number)) {
  cursors_.reserve(process.threads().size());
  for (const raw_process::thread& thread : process.threads()) {
    const auto place = static_cast<std::uint32_t>(cursors_.size());
    cursors_.emplace_back(process, thread);
    // The first record of a thread is read when its turn comes: until then, the thread costs no memory.
    heads_.push({{.stamp = thread.first_stamp, .what = 0, .size = 0, .site = 0}, place});
    by_handle_[thread.handle].threads.push_back(place + 1);
  }
}

// The number of the created or joined thread; 0 if the thread wrote no event.
std::uint32_t merged_events::thread_of(const raw_record& about) {
  threads_of_handle& of = by_handle_[address_of(about)];
  const bool created = kind_of(about) == kind::thread_create;
  std::size_t& place = created ? of.created : of.joined;
  // A pthread_t is used again by later threads. Thread 1, the main thread, was made by no pthread_create, so
  // it is passed over; and a thread that began after the join is not the joined one.
  while (place < of.threads.size() && created && of.threads[place] == 1) ++place;
  if (place >= of.threads.size()) return 0;
  const raw_process::thread& found = process_.threads()[of.threads[place] - 1];
  if (!created && found.first_stamp > about.stamp) return 0;
  return of.threads[place++];
}

event merged_events::event_of(const head& from) {
  const raw_record& record = from.record;
  event e{.stamp = record.stamp,
          .address = address_of(record),
          .size = record.size,
          .thread = from.thread + 1,
          .site = 0,
          .kind = kind_of(record),
          .alignment_log2 = alignment_of(record)};
  if (is_acquisition(e.kind) || is_release(e.kind)) e.site = site_number_(record);
  if (e.kind == kind::thread_begin) e.address = 0;
  if (e.kind == kind::thread_create || e.kind == kind::thread_join) e.address = thread_of(record);
  return e;
}

bool merged_events::next(event& e) {
  while (!heads_.empty()) {
    head first = heads_.top();
    heads_.pop();
    const bool has_event = first.record.what != 0;
    if (has_event) e = event_of(first);
    if (cursors_[first.thread].next(first.record)) heads_.push(first);
    if (has_event && is_known(e.kind)) return true;
  }
  return false;
}

}  // namespace heaplab::trace
