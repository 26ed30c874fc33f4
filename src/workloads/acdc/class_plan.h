// The plan of the next lifetime-size-class: size, liveness and number of its objects (paper section 2.3).
#pragma once

#include <cstdint>

#include "workloads/acdc/configuration.h"
#include "workloads/acdc/original_random.h"
#include "workloads/harness/random_stream.h"

namespace heaplab::acdc {

enum class structure : std::uint8_t { list, tree };

struct class_plan {
  std::uint64_t liveness;  // in ticks; `permanent`: the objects live for ever
  std::uint64_t size;
  std::uint64_t count;
  structure shape;
  bool shared;

  std::uint64_t bytes() const { return size * count; }
};

// A liveness of objects that live for ever.
inline constexpr std::uint64_t permanent = 0;

// The octaves of the sizes, drawn with equal probability; all sizes within an octave are equally likely. Both
// ends belong to an octave.
struct octaves {
  explicit octaves(const configuration& settings);

  unsigned count() const { return last_ - first_ + 1; }
  std::uint64_t least(unsigned index) const;
  std::uint64_t most(unsigned index) const;

private:
  unsigned first_;
  unsigned last_;
  std::uint64_t min_size_;
  std::uint64_t max_size_;
};

// (log2(max-size) - log2(size) + 1)^2 * (max-liveness - liveness + 1)^2, with integer logarithms. The paper's
// text also prints the second factor as a divisor; the paper's program multiplies.
std::uint64_t object_count(const configuration& settings, std::uint64_t size, std::uint64_t liveness);

class plan_source {
public:
  plan_source(const configuration& settings, std::uint64_t seed, unsigned thread)
      : settings_(settings), octaves_(settings), random_(seed, thread), original_(seed + thread) {}

  class_plan next() { return settings_.historic ? draw_as_original() : draw(); }

  // The random stream from which receivers are drawn.
  harness::random_stream& random() { return random_; }

private:
  class_plan draw();
  class_plan draw_as_original();

  const configuration& settings_;
  octaves octaves_;
  harness::random_stream random_;
  original_random original_;
};

}  // namespace heaplab::acdc
