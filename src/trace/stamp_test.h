#pragma once

namespace heaplab::trace {

// Whether the processor's time stamp counter never seems to go back from one processor to another: asked of
// the processor, and tried by two threads that hand a number to and fro on all pairs of the processors looked
// at.
bool counter_orders_threads();

}  // namespace heaplab::trace
