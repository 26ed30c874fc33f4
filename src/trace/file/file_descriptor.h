#pragma once

#include <unistd.h>

#include <utility>

namespace heaplab::trace {

// Owns an open file.
class file_descriptor {
public:
  file_descriptor() = default;
  explicit file_descriptor(int number) : number_(number) {}
  ~file_descriptor() { close(); }
  file_descriptor(file_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  file_descriptor& operator=(file_descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }

  // Returns 0, or -1 with errno set: some file systems report a failed write only at close.
  int close() {
    const int open = std::exchange(number_, -1);
    return open < 0 ? 0 : ::close(open);
  }

private:
  int number_ = -1;
};

}  // namespace heaplab::trace
