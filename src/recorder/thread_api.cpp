// Records which thread starts and joins which: a replay must keep this order.
#include <dlfcn.h>
#include <pthread.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/errno_keeper.h"
#include "recorder/recording.h"

namespace heaplab::recorder {
namespace {

using create_function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
using join_function = int(pthread_t, void**);

// relaxed: code exists before any thread that could read the pointer.
constinit atomic<create_function*> next_create = nullptr;
constinit atomic<join_function*> next_join = nullptr;

// Looks a function up when it is first called: before glibc 2.34 the functions lie in a library that a
// program may load late.
template <class Function>
Function* below(atomic<Function*>& known, const char* name) {
  Function* found = known.load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  const errno_keeper keep;
  const doing own(this_thread, activity::own);
  found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  known.store(found, std::memory_order_relaxed);
  return found;
}

void note(trace::kind kind, pthread_t thread) {
  thread_state& state = this_thread;
  if (!record_here(state)) return;
  const doing own(state, activity::own);
  trace::raw_record* const record = claim(state);
  fill(record, stamp_after(), kind, static_cast<std::uint64_t>(thread), 1, 0);
}

}  // namespace
}  // namespace heaplab::recorder

extern "C" {

HEAPLAB_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                                  void* argument) noexcept {
  auto* const create = heaplab::recorder::below(heaplab::recorder::next_create, "pthread_create");
  const int error = create(thread, attributes, start, argument);
  if (error == 0) heaplab::recorder::note(heaplab::trace::kind::thread_create, *thread);
  return error;
}

HEAPLAB_EXPORT int pthread_join(pthread_t thread, void** result) {
  auto* const join = heaplab::recorder::below(heaplab::recorder::next_join, "pthread_join");
  const int error = join(thread, result);
  if (error == 0) heaplab::recorder::note(heaplab::trace::kind::thread_join, thread);
  return error;
}

}  // extern "C"
