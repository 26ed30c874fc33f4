#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorded/workload_format.h"

namespace heaplab::recorded {

// Writes a workload file in one pass through a mapping of the file: memory is bounded by the number of
// streams, and an operation can be changed after it was added. The file gets its name only when it is
// complete.
class workload_writer {
public:
  // Throws file_error.
  explicit workload_writer(std::string path);
  ~workload_writer();
  workload_writer(const workload_writer&) = delete;
  workload_writer& operator=(const workload_writer&) = delete;

  // The position of an operation in the file.
  using place_in_file = std::uint64_t;

  // Returns the number of the new stream; the first three are prologue, epilogue and main thread.
  std::uint32_t add_stream();
  // Precondition: the stream, and the side that the operation names, were added.
  place_in_file add(std::uint32_t stream, operation added);
  // Precondition: add() returned the place.
  void move(place_in_file where, std::uint32_t slot);
  // Precondition: the alignment is a power of two, or 0. Returns the index of the side; equal sides share an
  // index. Throws file_error when there are too many sides.
  std::uint32_t add_side(side added);
  void add_epoch(const epoch& added) { epochs_.push_back(added); }
  std::uint64_t epochs() const { return epochs_.size(); }
  void add_census(const census& added) { censuses_.push_back(added); }
  // The blocks that live at the censuses, in the order of the censuses.
  std::vector<survivor>& survivors() { return survivors_; }

  // Writes the tables and `head`, fills in the header's table counts, offsets and checksums, and gives the
  // file its name. Returns the header as written.
  header finish(header head);

private:
  struct open_stream {
    std::vector<segment> segments;
    std::uint64_t room = 0;  // operations that still fit into the last segment
    std::uint64_t operations = 0;
  };
  struct side_hash {
    std::size_t operator()(const side& which) const {
      return static_cast<std::size_t>(which.bytes * 0x9e3779b97f4a7c15U ^ which.alignment);
    }
  };

  void open_segment(open_stream& wanting);
  std::uint64_t take(std::uint64_t bytes);
  void grow(std::uint64_t wanted);
  template <class T>
  std::uint64_t write_table(const std::vector<T>& table);
  [[noreturn]] void fail(const char* what, int error) const;

  std::string path_;
  std::string temporary_;
  int file_ = -1;
  std::byte* start_ = nullptr;
  std::uint64_t allotted_ = 0;  // size of the file on disk; all of it is mapped
  std::uint64_t used_ = header::bytes;
  std::vector<open_stream> streams_;
  std::vector<side> sides_;
  std::unordered_map<side, std::uint32_t, side_hash> side_of_;
  std::vector<epoch> epochs_;
  std::vector<census> censuses_;
  std::vector<survivor> survivors_;
};

}  // namespace heaplab::recorded
