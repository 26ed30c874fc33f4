// A file that is mapped piece by piece, in a program that may close every descriptor, or change its root
// directory or its user.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/raw_file.h"

namespace heaplab::recorder {

class output_file {
public:
  // `path` must outlive this object. False if the file exists or cannot be created.
  bool create(const char* path);

  // In a child of fork: leaves the copied descriptor to the parent.
  void forget() { descriptor_ = -1; }

  // Maps `bytes` of the file at `offset`, zeroed and with disk blocks allocated, so that writing to them
  // cannot fail. Null if refused; `why` then tells the reason.
  void* map(std::uint64_t offset, std::size_t bytes, trace::loss& why);

private:
  bool is_ours(int descriptor) const;
  bool open_again();

  const char* path_ = nullptr;
  int descriptor_ = -1;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

}  // namespace heaplab::recorder
