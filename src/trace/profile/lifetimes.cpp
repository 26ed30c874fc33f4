#include "trace/profile/lifetimes.h"

#include <algorithm>
#include <bit>

namespace heaplab::trace {

namespace {

std::size_t life_class(std::uint64_t acquisitions) {
  return std::min<std::size_t>(std::bit_width(acquisitions), lifetimes::classes - 1);
}

}  // namespace

void lifetimes::born(const live_block& block) {
  if (in_last_act_ || block.number == 0) return;
  complete_cohorts(block);
  acquisitions_ = block.number;
  site(block.site).live_bytes += block.size;
}

void lifetimes::died(const live_block& block) {
  if (block.number == 0) return;  // lived before the recording, nobody knows how long
  of_site& of = site(block.site);
  if (in_last_act_) {
    if (block.number <= acquisitions_) of.released_last.add(block.size);
    return;
  }
  of.live_bytes -= block.size;
  ++of.released[life_class(acquisitions_ - block.number)];
}

void lifetimes::begin_last_act(const block_lives& blocks) {
  if (in_last_act_) return;
  in_last_act_ = true;
  blocks.each([this](const live_block& block) {
    if (block.number == 0) return;
    survivors& of = surviving_[block.site];
    ++of.ages[life_class(acquisitions_ - block.number)];
    of.by_cohort[cohort_of(block.number)].add(block.size);
  });
}

std::size_t lifetimes::cohort_of(std::uint64_t number) const {
  const auto all = static_cast<double>(std::max<std::uint64_t>(1, last_.acquisitions));
  const auto cohort = static_cast<std::size_t>(static_cast<double>(number - 1) / all * cohorts);
  return std::min(cohort, cohorts - 1);
}

// Notes what lives at the end of each cohort before that of the next block.
void lifetimes::complete_cohorts(const live_block& next) {
  for (const std::size_t now = cohort_of(next.number); stamps_.size() < now;) {
    stamps_.push_back(next.acquired);
    for (of_site& of : sites_) {
      if (of.live_bytes == 0) continue;
      of.course.resize(stamps_.size());
      of.course.back() = of.live_bytes;
    }
  }
}

lifetimes::of_site& lifetimes::site(std::uint32_t number) {
  if (number >= sites_.size()) sites_.resize(std::size_t{number} + 1);
  return sites_[number];
}

}  // namespace heaplab::trace
