#pragma once

#include <cstddef>
#include <span>

#include "base/assertion.h"

namespace heaplab::harness {

struct point {
  double time;  // seconds since the clock started
  double value;
};

// A quantity over time, with a fixed number of points. When all points are used, every second point is
// dropped, and from then on every second value is skipped, so that the points cover the whole run evenly.
// Written by one thread.
class series {
public:
  series() = default;
  series(const char* name, const char* unit, std::span<point> room) : name_(name), unit_(unit), room_(room) {}

  void add(double time, double value) {
    HEAPLAB_ASSERT(!room_.empty());
    if (offered_++ % stride_ != 0) return;
    if (size_ == room_.size()) {
      thin_out();
      if ((offered_ - 1) % stride_ != 0) return;
    }
    room_[size_++] = {time, value};
  }

  const char* name() const { return name_; }
  const char* unit() const { return unit_; }
  std::span<const point> points() const { return room_.first(size_); }

private:
  void thin_out() {
    for (std::size_t i = 0; 2 * i < size_; ++i) room_[i] = room_[2 * i];
    size_ = (size_ + 1) / 2;
    stride_ *= 2;
  }

  const char* name_ = "";
  const char* unit_ = "";
  std::span<point> room_;
  std::size_t size_ = 0;
  std::size_t offered_ = 0;
  std::size_t stride_ = 1;
};

}  // namespace heaplab::harness
