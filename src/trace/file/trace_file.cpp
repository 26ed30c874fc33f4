#include "trace/file/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string_view>

#include "trace/file/trace_error.h"

namespace heaplab::trace {

namespace {

constexpr std::uint32_t most_processes = 1U << 20;  // a larger number is damage, and would cost memory

std::string text_of(const bytes& payload) {
  return {payload.begin(), payload.end()};
}

index_entry entry_of(const frame_header& header, std::uint64_t offset) {
  return {offset,
          header.first,
          header.first_stamp,
          header.process,
          header.count,
          header.packed_bytes,
          static_cast<std::uint16_t>(header.type),
          0};
}

std::string what_is_lost(const index_entry& frame) {
  const char* const what = is_type(frame, frame_type::events) ? " events" : " entries";
  return std::to_string(frame.count) + what + " are lost";
}

// Takes a hexadecimal number and the character behind it, if there is one to be, off the front of a line.
bool take_hexadecimal(std::string_view& line, char behind, std::uint64_t& number) {
  const auto [rest, fault] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  if (fault != std::errc{} || rest == line.data() + line.size() || *rest != behind) return false;
  line.remove_prefix(static_cast<std::size_t>(rest - line.data()) + 1);
  return true;
}

// Whether a line of modules, build-ids or names is one (docs/trace-format.md).
bool is_line(frame_type type, std::string_view line) {
  std::uint64_t start = 0, end = 0, offset = 0;
  if (type == frame_type::names) return take_hexadecimal(line, ' ', start);
  if (type == frame_type::build_ids)
    return take_hexadecimal(line, ' ', start) && !line.empty() && line.size() % 2 == 0 &&
           line.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return take_hexadecimal(line, '-', start) && take_hexadecimal(line, ' ', end) &&
         take_hexadecimal(line, ' ', offset) && start < end && !line.empty();
}

// Whether all of a text is a number.
bool is_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc{} && rest == text.data() + text.size();
}

// The properties that are numbers (docs/trace-format.md).
constexpr std::string_view numbers[] = {"pid",
                                        "parent_pid",
                                        "ticks_per_second",
                                        "start_ticks",
                                        "start_ns",
                                        "start_unix_ns",
                                        "resolution_ns",
                                        "forked",
                                        "events",
                                        "acquisitions",
                                        "releases",
                                        "failed",
                                        "bytes_acquired",
                                        "peak_bytes",
                                        "peak_blocks",
                                        "live_bytes",
                                        "live_blocks",
                                        "threads",
                                        "sites",
                                        "lost",
                                        "lost_elsewhere",
                                        "filtered_processes",
                                        "acquired_while_live",
                                        "released_unknown",
                                        "lived_blocks",
                                        "lived_bytes",
                                        "released_inherited",
                                        "instructions",
                                        "uncounted_threads",
                                        "ended",
                                        "end_ticks",
                                        "cpu_ns"};

}  // namespace

trace_file::trace_file(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat status{};
  if (!file_.is_open() || ::fstat(file_.number(), &status) != 0)
    throw trace_error(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw trace_error(path, "is a folder, not a trace");
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (size_ == 0) throw trace_error(path, "is empty, not a trace");
  file_header header{};
  if (!read_at(0, header.magic, std::min<std::size_t>(size_, sizeof header.magic)) ||
      std::memcmp(header.magic, file_magic, sizeof header.magic) != 0)
    throw trace_error(path, "is not a trace of heaplab");
  if (!read_at(0, &header, sizeof header)) {
    damage_.push_back("the header of the file is cut off");
    return;
  }
  if (header.crc != crc_of(header)) {
    damage_.push_back("the header of the file is damaged");
  } else if (header.major != format_major) {
    throw trace_error(path, "has format " + std::to_string(header.major) + ", this heaplab reads format " +
                                std::to_string(format_major));
  }
  machine_ = header.machine;
  if (!read_index()) scan();
  read_properties();
}

trace_file::~trace_file() = default;

bool trace_file::read_at(std::uint64_t offset, void* into, std::size_t count) const {
  auto* to = static_cast<char*>(into);
  while (count > 0) {
    const ssize_t got = ::pread(file_.number(), to, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<std::uint64_t>(got);
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

std::optional<frame_header> trace_file::header_at(std::uint64_t offset) const {
  frame_header header;
  if (offset > size_ || size_ - offset < sizeof header || !read_at(offset, &header, sizeof header))
    return std::nullopt;
  return plausible(header) ? std::optional(header) : std::nullopt;
}

bool trace_file::unpack(const frame_header& header, std::uint64_t offset, bytes& payload) {
  if (size_ - offset - sizeof header < header.packed_bytes) return false;
  packed_.resize(header.packed_bytes);
  if (!read_at(offset + sizeof header, packed_.data(), packed_.size()) ||
      crc32(packed_) != header.payload_crc)
    return false;
  if (header.codec == codec::stored) {
    payload = packed_;
    return payload.size() == header.plain_bytes;
  }
  payload.resize(header.plain_bytes);
  return header.codec == codec::zstd &&
         ZSTD_decompress(payload.data(), payload.size(), packed_.data(), packed_.size()) == payload.size();
}

bool trace_file::read(const index_entry& frame, bytes& payload) {
  const std::optional<frame_header> header = header_at(frame.offset);
  if (header && entry_of(*header, frame.offset) != frame)
    return reject(frame, "its header and the index tell different things");
  if (header && unpack(*header, frame.offset, payload)) return true;
  blame("the frame at byte " + std::to_string(frame.offset) + " is damaged: " + what_is_lost(frame));
  return false;
}

bool trace_file::reject(const index_entry& frame, const std::string& fault) {
  blame("the frame at byte " + std::to_string(frame.offset) + " is wrong: " + fault + ": " +
        what_is_lost(frame));
  return false;
}

// Notes a fault once: a damaged frame may be read several times.
void trace_file::blame(const std::string& fault) {
  if (std::ranges::find(damage_, fault) == damage_.end()) damage_.push_back(fault);
}

void trace_file::enter(const index_entry& frame) {
  const std::uint16_t type = frame.type;
  const bool known = type >= static_cast<std::uint16_t>(frame_type::process) &&
                     type <= static_cast<std::uint16_t>(frame_type::build_ids) &&
                     !is_type(frame, frame_type::index);
  if (!known) return;  // of a later minor version
  // A damaged file may have lost the frames that introduce a process: numbers may then have gaps.
  const std::size_t most = scanning_ ? most_processes : processes_.size();
  if (frame.process > most) {
    reject(frame, "it is of process " + std::to_string(frame.process) + ", and " +
                      std::to_string(processes_.size()) + " are before");
    return;
  }
  if (frame.process >= processes_.size()) processes_.resize(frame.process + 1);
  process_part& of = processes_[frame.process];
  if (is_type(frame, frame_type::events)) of.events += frame.count;
  if (is_type(frame, frame_type::events) || is_type(frame, frame_type::sites) ||
      is_type(frame, frame_type::lived))
    of.frames.push_back(frame);
  else
    texts_.push_back(frame);
}

bool trace_file::read_index() {
  file_trailer trailer{};
  if (size_ < sizeof trailer || !read_at(size_ - sizeof trailer, &trailer, sizeof trailer) ||
      trailer.magic != trailer_magic || trailer.crc != crc_of(trailer))
    return false;
  const std::optional<frame_header> header = header_at(trailer.index_offset);
  bytes payload;
  if (!header || header->type != frame_type::index || !unpack(*header, trailer.index_offset, payload) ||
      payload.size() != std::size_t{header->count} * sizeof(index_entry))
    return false;
  for (std::size_t at = 0; at < payload.size(); at += sizeof(index_entry)) {
    index_entry frame;
    std::memcpy(&frame, payload.data() + at, sizeof frame);
    enter(frame);
  }
  return true;
}

// The offset of the next frame magic at or behind `offset`, or the file's size if there is none.
std::uint64_t trace_file::next_frame_after(std::uint64_t offset) {
  constexpr std::size_t window = std::size_t{1} << 20;
  const auto wanted = bytes_of(frame_magic);
  bytes seen(window);
  while (offset + sizeof(frame_header) <= size_) {
    const std::size_t count = std::min<std::uint64_t>(window, size_ - offset);
    if (!read_at(offset, seen.data(), count)) break;
    const auto end = seen.begin() + static_cast<std::ptrdiff_t>(count);
    for (auto at = seen.begin(); (at = std::search(at, end, wanted.begin(), wanted.end())) != end; ++at) {
      const std::uint64_t place = offset + static_cast<std::uint64_t>(at - seen.begin());
      if (header_at(place)) return place;
    }
    offset += count - std::min(count, wanted.size() - 1);
    if (count < window) break;
  }
  return size_;
}

// Reads a file without a usable index frame by frame, from the start.
void trace_file::scan() {
  scanning_ = true;
  damage_.push_back("the file has no intact index: it was cut off or damaged");
  std::uint64_t offset = sizeof(file_header);
  while (offset < size_) {
    const std::optional<frame_header> header = header_at(offset);
    if (!header) {
      const std::uint64_t next = next_frame_after(offset + 1);
      if (offset + sizeof(file_trailer) != size_)
        damage_.push_back("bytes " + std::to_string(offset) + " to " + std::to_string(next) +
                          " hold no intact frame");
      offset = next;
      continue;
    }
    const std::uint64_t end = offset + sizeof *header + header->packed_bytes;
    if (end > size_) {
      damage_.push_back("the file ends within the frame at byte " + std::to_string(offset) + ": " +
                        std::to_string(header->count) +
                        (header->type == frame_type::events ? " events" : " entries") +
                        " and all behind are lost");
      return;
    }
    if (header->type != frame_type::index) enter(entry_of(*header, offset));
    offset = end;
  }
}

void trace_file::read_properties() {
  bytes payload;
  for (const index_entry& frame : texts_) {
    const bool first = is_type(frame, frame_type::process);
    if (!first && !is_type(frame, frame_type::summary)) continue;
    if (!read(frame, payload)) continue;
    process_part& of = processes_[frame.process];
    properties& found = first ? of.of : of.summary;
    found = properties::decode(text_of(payload));
    check_properties(frame, found);
  }
}

// Refuses properties that must be numbers and are not: they would count as 0.
void trace_file::check_properties(const index_entry& frame, const properties& of) {
  for (const std::string_view name : numbers)
    if (of.has(name) && !is_number(of.text(name)))
      blame("the frame at byte " + std::to_string(frame.offset) + " is wrong: " + std::string(name) +
            " is '" + std::string(of.text(name)) + "', which is no number");
  const std::string_view stamps = of.text("stamps");
  if (of.has("stamps") && stamps != "tsc" && stamps != "tickets" && stamps != "clock")
    blame("the frame at byte " + std::to_string(frame.offset) + " is wrong: stamps are '" +
          std::string(stamps) + "', and may be tsc, tickets or clock");
}

// The lines of a process's frames of one type. A line that has not the form of the type is blamed and left
// out.
std::string trace_file::lines_of(std::uint32_t number, frame_type type) {
  std::string lines;
  bytes payload;
  for (const index_entry& frame : texts_) {
    if (frame.process != number || !is_type(frame, type) || !read(frame, payload)) continue;
    std::istringstream text(text_of(payload));
    for (std::string line; std::getline(text, line);) {
      if (is_line(type, line))
        lines += line + '\n';
      else
        blame("the frame at byte " + std::to_string(frame.offset) + " is wrong: its line '" + line +
              "' has another form");
    }
  }
  return lines;
}

}  // namespace heaplab::trace
