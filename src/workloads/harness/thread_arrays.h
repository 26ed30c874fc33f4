#pragma once

#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/assertion.h"
#include "workloads/harness/measurement.h"

namespace heaplab::harness {

// An array of `each` elements for every thread, outside the heap under test and on cache lines of its own.
template <class T>
class thread_arrays {
public:
  thread_arrays() = default;

  // Throws usage_error if the machine lacks the memory.
  thread_arrays(std::size_t threads, std::size_t each) {
    pages_.emplace(take_pages(threads * probes::off_heap_pages::needed<T>(each)));
    for (std::size_t thread = 0; thread < threads; ++thread) arrays_.push_back(pages_->array<T>(each));
  }

  std::span<T> operator[](std::size_t thread) const {
    HEAPLAB_ASSERT(thread < arrays_.size());
    return arrays_[thread];
  }

  // The sum of the first elements.
  double total() const {
    return std::accumulate(arrays_.begin(), arrays_.end(), 0.0, [](double sum, std::span<T> array) {
      return sum + static_cast<double>(array.front());
    });
  }

private:
  std::optional<probes::off_heap_pages> pages_;
  std::vector<std::span<T>> arrays_;
};

}  // namespace heaplab::harness
