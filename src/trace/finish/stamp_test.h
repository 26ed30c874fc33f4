#pragma once

namespace heaplab::trace {

// Whether the time stamp counter never seems to go back between processors. The processor must claim so, and
// a test must agree in which two threads pass a number to and fro on all pairs of the examined processors.
bool counter_orders_threads();

}  // namespace heaplab::trace
