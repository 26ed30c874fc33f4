// A function that the recorder has under the same name, as it would be found without the recorder.
#pragma once

#include <dlfcn.h>

#include "base/atomic.h"
#include "base/errno_keeper.h"
#include "recorder/thread_state.h"

namespace heaplab::recorder {

// Looks the function up when it is first called, unless look_up() has found it: before glibc 2.34 some lie in
// libraries that a program may load late. relaxed: code exists before any thread that could read the pointer.
template <class Function>
class next_symbol {
public:
  constexpr explicit next_symbol(const char* name) : name_(name) {}

  Function* get() {
    Function* found = found_.load(std::memory_order_relaxed);
    if (found != nullptr) return found;
    const errno_keeper keep;
    const doing own(this_thread, activity::own);
    found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
    found_.store(found, std::memory_order_relaxed);
    return found;
  }

private:
  const char* name_;
  atomic<Function*> found_ = nullptr;
};

// To be called when the recorder is loaded: a look-up frees the text that dlerror has for the program. A
// function that is not found leaves such a text, which the first call of dlerror tells and the second frees.
template <class... Function>
void look_up(next_symbol<Function>&... symbols) {
  const doing own(this_thread, activity::own);
  const bool all = (... & (symbols.get() != nullptr));
  if (all) return;
  dlerror();
  dlerror();
}

}  // namespace heaplab::recorder
