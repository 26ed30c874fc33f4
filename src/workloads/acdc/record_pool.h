#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <optional>

#include "base/assertion.h"
#include "base/cache_line.h"
#include "probes/off_heap_pages.h"
#include "workloads/acdc/give_up.h"

namespace heaplab::acdc {

// Bookkeeping records outside the heap under test, each on a cache line of its own. One thread takes and puts
// back records; a record may return to the pool of another thread than it was taken from. A pool that runs
// out doubles its size, which takes time: this never happens inside a measured stretch.
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
    HEAPLAB_ASSERT(record != nullptr && record != free_);
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
