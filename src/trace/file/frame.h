// The parts of a trace file (docs/trace-format.md). All numbers are little-endian, as on every machine that
// heaplab runs on.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "trace/file/crc32.h"

namespace heaplab::trace {

static_assert(std::endian::native == std::endian::little);

// The first byte has its high bit set, and line ends of both kinds follow, so that a reader recognises a file
// that was damaged by a transfer as text.
inline constexpr std::uint8_t file_magic[8] = {0x89, 'H', 'L', 'T', '\r', '\n', 0x1A, '\n'};
inline constexpr std::uint16_t format_major = 1;  // another major cannot be read
inline constexpr std::uint16_t format_minor = 5;  // a higher minor only adds frame types and properties

struct file_header {
  std::uint8_t magic[8];
  std::uint16_t major;
  std::uint16_t minor;
  std::uint16_t machine;  // e_machine of ELF: 62 x86-64, 183 aarch64
  std::uint16_t address_bits;
  std::uint64_t reserved[2];
  std::uint32_t reserved_too;
  std::uint32_t crc;  // of all bytes before this one
};
static_assert(sizeof(file_header) == 40);

enum class frame_type : std::uint16_t {
  process = 1,  // properties of a process; its first frame
  sites = 2,    // call sites; each before the first event that names it
  events = 3,
  summary = 4,    // properties: what the verifier counted; the last frame of a process
  modules = 5,    // text: the mapped files of a process, one a line
  index = 6,      // where all others are; the last frame of the file
  names = 7,      // text: what code addresses are, one a line; since format 1.1
  lived = 8,      // blocks that lived when the recording began, written as events; since format 1.2
  build_ids = 9,  // text: the build-ids of modules, one a line; since format 1.3
};

enum class codec : std::uint16_t { stored = 0, zstd = 1 };

inline constexpr std::uint32_t frame_magic = 0x4D464C48;   // "HLFM"
inline constexpr std::uint32_t largest_frame = 64U << 20;  // bytes of a payload, compressed or not

struct frame_header {
  std::uint32_t magic;
  frame_type type;
  trace::codec codec;
  std::uint32_t process;       // number of the process, from 0
  std::uint32_t count;         // number of entries: events, sites, lines
  std::uint64_t first;         // number of the first entry within the process, from 0 (sites: from 1)
  std::uint64_t first_stamp;   // stamp of the first event; 0 in frames of other types
  std::uint32_t packed_bytes;  // bytes of the payload in the file
  std::uint32_t plain_bytes;   // bytes of the payload decompressed
  std::uint32_t payload_crc;   // of the payload as stored in the file
  std::uint32_t header_crc;    // of all bytes of the header before this one
};
static_assert(sizeof(frame_header) == 48);

struct index_entry {
  std::uint64_t offset;  // of the frame header in the file
  std::uint64_t first;
  std::uint64_t first_stamp;
  std::uint32_t process;
  std::uint32_t count;
  std::uint32_t packed_bytes;
  std::uint16_t type;
  std::uint16_t reserved;

  bool operator==(const index_entry&) const = default;
};
static_assert(sizeof(index_entry) == 40);

inline bool is_type(const index_entry& frame, frame_type type) {
  return frame.type == static_cast<std::uint16_t>(type);
}

// The last bytes of a complete file.
struct file_trailer {
  std::uint64_t index_offset;
  std::uint32_t crc;  // of index_offset
  std::uint32_t magic;
};
static_assert(sizeof(file_trailer) == 16);
inline constexpr std::uint32_t trailer_magic = 0x45464C48;  // "HLFE"

template <class T>
std::span<const std::uint8_t> bytes_of(const T& object, std::size_t count = sizeof(T)) {
  return {reinterpret_cast<const std::uint8_t*>(&object), count};
}

// The checksum of a header, stored in the last member of the header.
inline std::uint32_t crc_of(const frame_header& header) {
  return crc32(bytes_of(header, offsetof(frame_header, header_crc)));
}
inline std::uint32_t crc_of(const file_header& header) {
  return crc32(bytes_of(header, offsetof(file_header, crc)));
}
inline std::uint32_t crc_of(const file_trailer& trailer) {
  return crc32(bytes_of(trailer, offsetof(file_trailer, crc)));
}

inline bool plausible(const frame_header& header) {
  return header.magic == frame_magic && header.header_crc == crc_of(header) &&
         header.packed_bytes <= largest_frame && header.plain_bytes <= largest_frame;
}

}  // namespace heaplab::trace
