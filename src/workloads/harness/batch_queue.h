// A bounded queue of batches of objects between threads. The queue allocates nothing.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "base/assertion.h"
#include "workloads/harness/measurement.h"

namespace heaplab::harness {

// A FIFO queue of numbers with room for all of them. A thread that finds the queue empty sleeps until half of
// the numbers are in the queue. If the next number woke the thread, the two sides would put each other to
// sleep and wake each other for every number, and the benchmark would measure the scheduler.
class number_queue {
public:
  explicit number_queue(std::span<std::uint32_t> room)
      : room_(room), enough_(std::max<std::size_t>(room.size() / 2, 1)) {}
  number_queue(const number_queue&) = delete;
  number_queue& operator=(const number_queue&) = delete;

  void put(std::uint32_t number) {
    pthread_mutex_lock(&mutex_);
    HEAPLAB_ASSERT(size_ < room_.size() && !closed_);
    room_[(first_ + size_++) % room_.size()] = number;
    if (size_ == enough_) pthread_cond_broadcast(&changed_);
    pthread_mutex_unlock(&mutex_);
  }

  // Waits for a number. Empty result: the queue is closed and empty.
  std::optional<std::uint32_t> take() {
    std::optional<std::uint32_t> number;
    pthread_mutex_lock(&mutex_);
    if (size_ == 0)
      while (size_ < enough_ && !closed_) pthread_cond_wait(&changed_, &mutex_);
    if (size_ != 0) {
      number = room_[first_];
      first_ = (first_ + 1) % room_.size();
      --size_;
    }
    pthread_mutex_unlock(&mutex_);
    return number;
  }

  // Called when no further number will be put into the queue.
  void close() {
    pthread_mutex_lock(&mutex_);
    closed_ = true;
    pthread_cond_broadcast(&changed_);
    pthread_mutex_unlock(&mutex_);
  }

private:
  std::span<std::uint32_t> room_;
  std::size_t enough_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  bool closed_ = false;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
};

// A bounded queue of batches of T, which any number of threads fill and empty in place. A thread that needs a
// free batch waits while all batches are filled or in use. Two threads never wait for each other: while no
// batch is in use, half of the batches are free or half are filled.
template <class T>
class batch_queue {
public:
  // A queue of `batches` batches of `each` elements. Throws usage_error if the machine lacks the memory.
  batch_queue(std::size_t batches, std::size_t each)
      : pages_(take_pages(2 * probes::off_heap_pages::needed<std::uint32_t>(batches) +
                          probes::off_heap_pages::needed<T>(batches * each) +
                          probes::off_heap_pages::needed<std::size_t>(batches))),
        each_(each),
        elements_(pages_.array<T>(batches * each)),
        sizes_(pages_.array<std::size_t>(batches)),
        free_(pages_.array<std::uint32_t>(batches)),
        filled_(pages_.array<std::uint32_t>(batches)) {
    for (std::uint32_t batch = 0; batch < batches; ++batch) free_.put(batch);
  }

  // fill(span) writes to the first elements of a free batch and returns how many it wrote.
  template <class Fill>
  void send(Fill&& fill) {
    const std::uint32_t batch = *free_.take();  // free_ is never closed
    sizes_[batch] = fill(elements_.subspan(batch * each_, each_));
    HEAPLAB_ASSERT(sizes_[batch] <= each_);
    filled_.put(batch);
  }

  // Calls empty(span) with the filled elements. Returns false without a call if the queue is closed and
  // empty.
  template <class Empty>
  bool receive(Empty&& empty) {
    const std::optional<std::uint32_t> batch = filled_.take();
    if (!batch) return false;
    empty(elements_.subspan(*batch * each_, sizes_[*batch]));
    free_.put(*batch);
    return true;
  }

  void close() { filled_.close(); }

private:
  probes::off_heap_pages pages_;
  std::size_t each_;
  std::span<T> elements_;
  std::span<std::size_t> sizes_;
  number_queue free_;
  number_queue filled_;
};

}  // namespace heaplab::harness
