// Reads a trace file (docs/trace-format.md). The intact parts of a truncated or damaged file are found too;
// `damage` tells what is missing, damaged or without meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/file/file_descriptor.h"
#include "trace/file/frame.h"
#include "trace/file/properties.h"
#include "trace/file/varint.h"

namespace heaplab::trace {

class trace_file {
public:
  // Throws trace_error if the file does not exist, is a folder, is empty, is no trace, or has another major
  // version.
  explicit trace_file(const std::string& path);
  ~trace_file();
  trace_file(const trace_file&) = delete;
  trace_file& operator=(const trace_file&) = delete;

  struct process_part {
    properties of;                    // pid, program, ticks_per_second ...; empty if the frame is lost
    properties summary;               // the counts of the verifier; empty if the frame is lost
    std::vector<index_entry> frames;  // frames of events, sites and lived blocks, in the order of the file
    std::uint64_t events = 0;         // events in the frames found
  };

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }        // bytes of the file
  std::uint16_t machine() const { return machine_; }  // e_machine of ELF
  const std::vector<process_part>& processes() const { return processes_; }
  // Whether all frames are known that the file was written with.
  bool has_index() const { return !scanning_; }
  // Lines for people on damaged or missing parts; reading frames may add lines.
  const std::vector<std::string>& damage() const { return damage_; }

  // The unpacked payload; false, and a line of damage more, where the frame is damaged.
  bool read(const index_entry& frame, bytes& payload);

  // A line of damage more: `fault` is wrong in a frame that is as it was written. Returns false.
  bool reject(const index_entry& frame, const std::string& fault);
  void blame(const std::string& fault);

  // Lines on the mapped files of a process, on their build-ids, and on its code addresses; "" where unknown.
  std::string modules(std::uint32_t number) { return lines_of(number, frame_type::modules); }
  std::string build_ids(std::uint32_t number) { return lines_of(number, frame_type::build_ids); }
  std::string names(std::uint32_t number) { return lines_of(number, frame_type::names); }

private:
  std::string lines_of(std::uint32_t number, frame_type type);
  void check_properties(const index_entry& frame, const properties& of);
  bool read_index();
  void scan();
  std::uint64_t next_frame_after(std::uint64_t offset);
  void enter(const index_entry& frame);
  bool read_at(std::uint64_t offset, void* into, std::size_t count) const;
  std::optional<frame_header> header_at(std::uint64_t offset) const;
  bool unpack(const frame_header& header, std::uint64_t offset, bytes& payload);
  void read_properties();

  std::string path_;
  file_descriptor file_;
  std::uint64_t size_ = 0;
  std::uint16_t machine_ = 0;
  bool scanning_ = false;  // frame by frame, since there is no intact index
  std::vector<process_part> processes_;
  std::vector<index_entry> texts_;  // frames of properties and modules
  std::vector<std::string> damage_;
  bytes packed_;
};

}  // namespace heaplab::trace
