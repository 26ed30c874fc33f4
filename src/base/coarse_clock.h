// A clock that takes a few nanoseconds to read and lags by a few milliseconds.
#pragma once

#include <time.h>

#include <cstdint>

namespace heaplab {

// Milliseconds since some moment in the past.
inline std::int64_t coarse_milliseconds() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

}  // namespace heaplab
