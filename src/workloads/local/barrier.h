// What keeps the optimiser from seeing that nobody needs the data (P0213, section 7).
#pragma once

namespace heaplab::strategies {

// The same object, of which the compiler no longer knows the dynamic type, nor who else may read and write
// it.
template <class T>
T& escape(T& object) {
  T* address = &object;
  asm volatile("" : "+r"(address) : : "memory");
  return *address;
}

// All memory that escaped may have been read and written.
inline void clobber() {
  asm volatile("" : : : "memory");
}

}  // namespace heaplab::strategies
