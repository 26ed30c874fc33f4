#include "workloads/speed/chain.h"

#include <algorithm>
#include <string>
#include <utility>

#include "workloads/harness/usage_error.h"

namespace heaplab::speed {

namespace {

constexpr std::array<std::pair<std::string_view, step>, 4> names{
    {{"malloc", step::malloc}, {"calloc", step::calloc}, {"realloc", step::realloc}, {"free", step::free}}};

step read_step(std::string_view name) {
  const auto* const found = std::ranges::find(names, name, &std::pair<std::string_view, step>::first);
  if (found == names.end())
    throw harness::usage_error("the step '" + std::string(name) +
                               "' is not malloc, calloc, realloc or free; steps are joined by '-'");
  return found->second;
}

}  // namespace

chain::chain(std::string_view text) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('-', at), text.size());
    add(read_step(text.substr(at, end - at)));
    at = end + 1;
  }
}

void chain::add(step next) {
  const std::string number = std::to_string(size_ + 1);
  if (size_ == most_steps) throw harness::usage_error("step " + number + " is too many");
  const bool holds_object = size_ > 0 && leaves_object();
  if (size_ > 0 && !holds_object && next == step::free)
    throw harness::usage_error("step " + number + ", free, has no object: the step before freed it");
  if (holds_object && (next == step::malloc || next == step::calloc))
    throw harness::usage_error("step " + number + " would lose the object of the step before; free it first");
  steps_[size_++] = next;
}

}  // namespace heaplab::speed
