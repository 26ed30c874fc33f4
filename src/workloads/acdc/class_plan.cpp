#include "workloads/acdc/class_plan.h"

#include <algorithm>

#include "base/bits.h"

namespace heaplab::acdc {

// A max-size that is a power of two belongs to the octave below it.
octaves::octaves(const configuration& settings)
    : first_(log2_floor(settings.min_size)),
      last_(settings.min_size == settings.max_size ? first_ : log2_floor(settings.max_size - 1)),
      min_size_(settings.min_size),
      max_size_(settings.max_size) {}

std::uint64_t octaves::least(unsigned index) const {
  return std::max(min_size_, std::uint64_t{1} << (first_ + index));
}

std::uint64_t octaves::most(unsigned index) const {
  if (first_ + index == last_) return max_size_;
  return (std::uint64_t{1} << (first_ + index + 1)) - 1;
}

std::uint64_t object_count(const configuration& settings, std::uint64_t size, std::uint64_t liveness) {
  if (settings.objects != 0) return settings.objects;
  const std::uint64_t small = log2_floor(settings.max_size) - log2_floor(size) + 1;
  const std::uint64_t short_lived = settings.max_liveness - liveness + 1;
  return small * small * short_lived * short_lived;
}

class_plan plan_source::draw() {
  class_plan plan{};
  const auto octave = static_cast<unsigned>(random_.below(octaves_.count()));
  plan.size = random_.between(octaves_.least(octave), octaves_.most(octave));
  plan.liveness = random_.between(settings_.min_liveness, settings_.max_liveness);
  plan.count = object_count(settings_, plan.size, plan.liveness);
  plan.shape = random_.chance(settings_.list_ratio) ? structure::list : structure::tree;
  if (plan.shape == structure::tree) plan.size = std::max(plan.size, tree_links);
  plan.shared = settings_.shared_objects && random_.chance(settings_.shared_objects_ratio);
  if (settings_.permanent_objects_ratio > 0 && random_.chance(settings_.permanent_objects_ratio))
    plan.liveness = permanent;
  return plan;
}

// The golden numbers depend on the order of the draws and on the 101 values of the percentage.
class_plan plan_source::draw_as_original() {
  class_plan plan{};
  plan.liveness = original_.between(settings_.min_liveness, settings_.max_liveness);
  const std::uint64_t exponent =
      original_.between(log2_floor(settings_.min_size), log2_floor(settings_.max_size) - 1);
  plan.size = original_.between(std::uint64_t{1} << exponent, (std::uint64_t{2} << exponent) - 1);
  const std::uint64_t percent = original_.between(0, 100);
  const bool list = static_cast<double>(percent) < settings_.list_ratio || percent == 100;
  plan.shape = list ? structure::list : structure::tree;
  if (settings_.objects != 0) {
    plan.size = settings_.min_size;
    plan.liveness = settings_.min_liveness;
  }
  plan.count = object_count(settings_, plan.size, plan.liveness);
  plan.size = std::max(plan.size, tree_links);
  return plan;
}

}  // namespace heaplab::acdc
