// Which pages of this process are resident, read from /proc/self/pagemap without allocating.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heaplab::probes {

// The pages numbered in ascending order are read fastest: the file is read in pieces. Used by one thread at a
// time.
class page_residency {
public:
  // Throws std::system_error where /proc is not mounted.
  page_residency();
  ~page_residency();
  page_residency(const page_residency&) = delete;
  page_residency& operator=(const page_residency&) = delete;

  // Forgets what was read: pages may have come and gone since.
  void look_again() { entries_ = 0; }

  // Pages are numbered by their address divided by the size of a page.
  bool is_resident(std::uintptr_t page);
  // How many of `count` pages from `first` on.
  std::size_t resident(std::uintptr_t first, std::size_t count);

private:
  void read_from(std::uintptr_t page);

  int file_;
  std::uintptr_t first_ = 0;  // page of the first entry
  std::size_t entries_ = 0;   // that were read
  std::array<std::uint64_t, 2048> entry_;
};

}  // namespace heaplab::probes
