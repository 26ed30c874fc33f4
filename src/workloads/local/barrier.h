// Optimisation barriers: they keep the compiler from removing work whose result nobody uses (P0213, section
// 7).
#pragma once

namespace heaplab::strategies {

// Returns the same object. The compiler no longer knows its dynamic type, nor who else may read and write it.
template <class T>
T& escape(T& object) {
  T* address = &object;
  asm volatile("" : "+r"(address) : : "memory");
  return *address;
}

// The compiler must assume that all memory that escaped has been read and written.
inline void clobber() {
  asm volatile("" : : : "memory");
}

}  // namespace heaplab::strategies
