// A file that is mapped piece by piece, in a program that may close every descriptor, change its root or its
// user.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/raw_file.h"

namespace heaplab::recorder {

class output_file {
public:
  // `path` outlives this. False where the file cannot be created or is there already.
  bool create(const char* path);

  // Leaves the descriptor to the parent that a fork copied it from.
  void forget() { descriptor_ = -1; }

  // `bytes` of the file at `offset`, zero, on disk and mapped: writing them cannot fail. Null: refused, and
  // why.
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
