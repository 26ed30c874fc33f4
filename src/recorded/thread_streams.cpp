#include "recorded/thread_streams.h"

#include <algorithm>
#include <utility>

#include "base/assertion.h"

namespace heaplab::recorded {

thread_streams::thread_streams(workload_writer& writer, std::uint32_t first) : writer_(writer) {
  for (std::uint32_t stream = 0; stream <= main_thread; ++stream) {
    writer_.add_stream();
    slots_.emplace_back();
  }
  stream_of_[first] = main_thread;
  alive_.push_back(main_thread);
}

std::uint32_t thread_streams::of(std::uint32_t thread) {
  const auto found = stream_of_.find(thread);
  return found != stream_of_.end() ? found->second : start(thread, main_thread);
}

void thread_streams::create(std::uint32_t by, std::uint32_t made) {
  if (made != 0 && !stream_of_.contains(made)) start(made, of(by));
}

void thread_streams::join(std::uint32_t by, std::uint32_t ended) {
  const auto found = std::find(ended_.begin(), ended_.end(), ended);
  if (found == ended_.end() || of(by) == stream_of_[ended]) return;
  ended_.erase(found);
  join_thread(of(by), ended);
}

void thread_streams::join_ended(std::uint32_t by) {
  std::erase_if(ended_, [&](std::uint32_t thread) {
    const bool other = stream_of_[thread] != by;
    if (other) join_thread(by, thread);
    return other;
  });
}

void thread_streams::end(std::uint32_t thread) {
  const std::uint32_t stream = of(thread);
  if (stream == main_thread || std::find(ended_.begin(), ended_.end(), thread) != ended_.end()) return;
  std::erase(alive_, stream);
  ended_.push_back(thread);
}

void thread_streams::end_all() {
  for (const auto& [thread, stream] : stream_of_)
    if (stream != main_thread) join_thread(main_thread, thread);
  alive_.assign(1, main_thread);
}

std::uint32_t thread_streams::start(std::uint32_t thread, std::uint32_t by) {
  join_ended(by);
  const std::uint32_t stream = writer_.add_stream();
  slots_.emplace_back();
  writer_.add(by, operation(action::start_thread, stream));
  stream_of_[thread] = stream;
  alive_.push_back(stream);
  return stream;
}

void thread_streams::join_thread(std::uint32_t by, std::uint32_t thread) {
  HEAPLAB_ASSERT(by >= main_thread && stream_of_.at(thread) > main_thread && stream_of_.at(thread) != by);
  writer_.add(by, operation(action::join_thread, std::exchange(stream_of_[thread], main_thread)));
}

}  // namespace heaplab::recorded
