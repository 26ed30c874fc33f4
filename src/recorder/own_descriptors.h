// Work on files in a program of several threads. Any of them may close every descriptor and open a file of
// its own under a number that has just become free, at any moment: between two system calls the number may
// come to mean a file of the user.
//
// Therefore the work runs in a short-lived process that shares the memory of this one, but not its table of
// descriptors (clone with CLONE_VM and without CLONE_FILES), while the calling thread waits (CLONE_VFORK).
// What the work maps stays. The program sees neither the process, which ends without a signal, nor a
// descriptor.
#pragma once

namespace heaplab::recorder {

// Runs work(argument), at once where this process has one thread. False, with errno: the system refuses.
bool with_own_descriptors(void (*work)(void*), void* argument);

template <class Work>
bool with_own_descriptors(Work work) {
  return with_own_descriptors([](void* of) { (*static_cast<Work*>(of))(); }, &work);
}

}  // namespace heaplab::recorder
