#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <optional>

#include "base/cache_line.h"
#include "probes/off_heap_pages.h"
#include "workloads/acdc/give_up.h"

namespace heaplab::acdc {

// Records of bookkeeping, each on a cache line of its own, outside the heap under test. One thread takes and
// puts back; a record may come back to another thread's pool than it was taken from. A pool that runs out
// doubles itself, which takes time: never between two stamps of a measured stretch.
template <class Record>
class record_pool {
  static_assert(sizeof(Record) == cache_line_bytes && alignof(Record) == cache_line_bytes);

public:
  explicit record_pool(std::size_t expected) { grow(std::max<std::size_t>(expected, 64)); }

  Record* take() {
    if (free_ == nullptr) [[unlikely]]
      grow(records_);
    Record* const record = free_;
    free_ = record->next;
    return new (record) Record();
  }

  void put(Record* record) {
    record->next = free_;
    free_ = record;
  }

private:
  void grow(std::size_t count) try {
    chunks_[used_].emplace(probes::off_heap_pages::needed<Record>(count));
    for (Record& record : chunks_[used_]->template array<Record>(count)) put(&record);
    ++used_;
    records_ += count;
  } catch (const std::bad_alloc&) {
    give_up("no memory for the records");
  }

  Record* free_ = nullptr;
  std::size_t records_ = 0;
  std::size_t used_ = 0;
  std::array<std::optional<probes::off_heap_pages>, 48> chunks_;
};

}  // namespace heaplab::acdc
