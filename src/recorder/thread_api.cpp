// Records which thread starts and joins which: a replay must keep this order.
#include <pthread.h>

#include "base/compiler.h"
#include "recorder/next_symbol.h"
#include "recorder/recording.h"

namespace heaplab::recorder {
namespace {

constinit next_symbol<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> next_create(
    "pthread_create");
constinit next_symbol<int(pthread_t, void**)> next_join("pthread_join");

[[gnu::constructor]] void look_up_all() {
  look_up(next_create, next_join);
}

void note(trace::kind kind, pthread_t thread) {
  thread_state& state = this_thread;
  if (!record_here(state, recording_state())) return;
  const doing own(state, activity::own);
  trace::raw_record* const record = claim(state);
  fill(record, stamp_after(), kind, static_cast<std::uint64_t>(thread), 1, 0);
}

}  // namespace
}  // namespace heaplab::recorder

extern "C" {

HEAPLAB_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                                  void* argument) noexcept {
  const int error = heaplab::recorder::next_create.get()(thread, attributes, start, argument);
  if (error == 0) heaplab::recorder::note(heaplab::trace::kind::thread_create, *thread);
  return error;
}

HEAPLAB_EXPORT int pthread_join(pthread_t thread, void** result) {
  const int error = heaplab::recorder::next_join.get()(thread, result);
  if (error == 0) heaplab::recorder::note(heaplab::trace::kind::thread_join, thread);
  return error;
}

}  // extern "C"
