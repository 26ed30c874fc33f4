// Compiled with -fsanitize=thread, for the test that the compiler reports accesses that are not atomic.
#include "coherence/plain_access.h"

namespace heaplab::coherence {

void add_one(int& number) {
  ++number;
}

int look_at(const int& number) {
  return number;
}

}  // namespace heaplab::coherence
