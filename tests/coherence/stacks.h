// One stack of free spans that all threads share, with tags or with hazard pointers, on a simulated machine.
#pragma once

#include <cstddef>

#include "coherence/machine.h"

namespace heaplab::coherence {

// Each thread on a core of its own pops an element and pushes it back, again and again; an operation is a
// pair.
counts simulate_tagged_stack(unsigned threads);
// A thread looks at the announcements of all others once for `batch` elements that it pushes.
counts simulate_hazard_stack(unsigned threads, std::size_t batch);

}  // namespace heaplab::coherence
