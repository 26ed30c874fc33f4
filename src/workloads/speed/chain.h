#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace heaplab::speed {

enum class step { malloc, calloc, realloc, free };

// The calls on one object, one after the other: "malloc-realloc-free". Every call of a chain works on the
// object that the preceding calls left, so that no object leaks.
class chain {
public:
  static constexpr std::size_t most_steps = 64;

  // Throws harness::usage_error with a text that does not contain the option's name. The text lists the
  // possible steps, or names the step that has no object or would leak one.
  explicit chain(std::string_view text);

  std::span<const step> steps() const { return std::span(steps_).first(size_); }
  // Whether the first call needs an existing object.
  bool needs_object() const { return steps_[0] == step::realloc || steps_[0] == step::free; }
  // Whether an object exists after the last call.
  bool leaves_object() const { return steps_[size_ - 1] != step::free; }

private:
  void add(step next);

  std::array<step, most_steps> steps_{};
  std::size_t size_ = 0;
};

}  // namespace heaplab::speed
