#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace heaplab::speed {

enum class step { malloc, calloc, realloc, free };

// What happens to one object, one call after the other: "malloc-realloc-free". Every call of a chain works
// on the object the calls before it left, so none is lost on the way.
class chain {
public:
  static constexpr std::size_t most_steps = 64;

  // Throws harness::usage_error without the option's name, saying which steps there are, or which one has
  // no object to work on or would lose one.
  explicit chain(std::string_view text);

  std::span<const step> steps() const { return std::span(steps_).first(size_); }
  // Whether the first call works on an object that was there before.
  bool needs_object() const { return steps_[0] == step::realloc || steps_[0] == step::free; }
  // Whether there is an object after the last call.
  bool leaves_object() const { return steps_[size_ - 1] != step::free; }

private:
  void add(step next);

  std::array<step, most_steps> steps_{};
  std::size_t size_ = 0;
};

}  // namespace heaplab::speed
