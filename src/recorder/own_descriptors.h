// Work on files in a program of several threads. Between two system calls of the work, another thread may
// close every descriptor and open a file of its own under the same number.
//
// So the work runs in a short-lived process that shares the memory of this process but not its descriptor
// table (clone with CLONE_VM and without CLONE_FILES), while the calling thread waits (CLONE_VFORK). Mappings
// that the work makes stay. The program sees no descriptor, and no process, which ends without a signal.
#pragma once

namespace heaplab::recorder {

// Runs work(argument), at once where this process has one thread. False, with errno: the system refuses.
bool with_own_descriptors(void (*work)(void*), void* argument);

template <class Work>
bool with_own_descriptors(Work work) {
  return with_own_descriptors([](void* of) { (*static_cast<Work*>(of))(); }, &work);
}

}  // namespace heaplab::recorder
