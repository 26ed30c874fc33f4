// The events of all threads of a process in their global order.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "trace/finish/raw_process.h"
#include "trace/finish/thread_cursor.h"
#include "trace/raw/event.h"

namespace heaplab::trace {

class merged_events {
public:
  // Returns the number of the call site of a record.
  using numbering = std::function<std::uint32_t(const raw_record&)>;

  // `process` must outlive this object.
  merged_events(const raw_process& process, numbering site_number);

  // False at the end. Stamps do not descend; among equal stamps, releases come first.
  bool next(event& e);

private:
  struct head {
    raw_record record;
    std::uint32_t thread;  // index into cursors_
    bool later_than(const head& other) const;
  };
  struct later {
    bool operator()(const head& a, const head& b) const { return a.later_than(b); }
  };

  event event_of(const head& from);
  std::uint32_t thread_of(const raw_record& about);

  const raw_process& process_;
  numbering site_number_;
  std::vector<thread_cursor> cursors_;
  std::priority_queue<head, std::vector<head>, later> heads_;
  // Threads by pthread_t, which the system reuses: the threads that had this pthread_t, in order, and how
  // many of them are already matched with a create and a join.
  struct threads_of_handle {
    std::vector<std::uint32_t> threads;
    std::size_t created = 0;
    std::size_t joined = 0;
  };
  std::unordered_map<std::uint64_t, threads_of_handle> by_handle_;
};

}  // namespace heaplab::trace
