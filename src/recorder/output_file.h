// A file that is mapped piece by piece, in a program that may close every descriptor, change its root
// directory or its user, or forbid system calls.
//
// No descriptor stays open, and no path is used again: a mapping of the file makes the next (mremap with an
// old size of 0 maps the same file anew, at the same place and further). The file is as long as it can ever
// become from the start, but takes no room on the disk except where it was mapped for use. The calls that map
// more of the file are of those that a malloc needs itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "trace/raw/raw_file.h"

namespace heaplab::recorder {

// Why something cannot be had, and the error of the system call, if one failed.
struct refusal {
  trace::loss why = trace::loss::count;
  int error = 0;
};

class output_file {
public:
  // Creates the file and maps its beginning. False if it exists or cannot be created.
  bool create(const char* path, refusal& refused);

  // Removes the file that was just created, of which nothing is in use.
  void discard(const char* path);

  // In a child of fork, which has none of its parent's mappings.
  void forget();

  // Where a piece of so many bytes may begin, at `offset` or behind.
  std::uint64_t place_for(std::uint64_t offset, std::size_t bytes) const;

  // A piece of the file, zeroed and with disk blocks allocated, so that writing to it cannot fail. Null if
  // refused. Precondition: the file was created; place_for gave the offset.
  void* map(std::uint64_t offset, std::size_t bytes, refusal& refused);

private:
  void* map_anew(std::uint64_t offset, std::size_t bytes);
  char* window(std::size_t number);

  // The file is mapped window by window, each with the page behind it, from which the next is mapped. relaxed
  // and acquire/release: a thread that sees a window sees nothing but its address.
  static constexpr std::size_t most_windows = std::size_t{1} << 14;
  atomic<char*> windows_[most_windows]{};
  std::size_t window_bytes_ = 0;
  std::uint64_t file_bytes_ = 0;
};

}  // namespace heaplab::recorder
