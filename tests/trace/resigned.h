#pragma once

#include <zstd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "trace/frame.h"
#include "trace/varint.h"

namespace heaplab::trace {

// The frames of a trace file, to be changed and written again with right checksums and a right index.
class resigned {
public:
  struct part {
    frame_header header;
    bytes payload;
    // What the index tells of the frame, where that is not what the header tells.
    std::uint32_t index_count = 0;
  };

  // Precondition: a whole file.
  explicit resigned(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(stream)), {});
    std::memcpy(&head_, whole.data(), sizeof head_);
    for (std::size_t at = sizeof head_;;) {
      part found;
      std::memcpy(&found.header, whole.data() + at, sizeof found.header);
      if (found.header.type == frame_type::index) break;
      at += sizeof found.header;
      found.payload.resize(found.header.plain_bytes);
      if (found.header.codec == codec::stored)
        std::memcpy(found.payload.data(), whole.data() + at, found.payload.size());
      else
        ZSTD_decompress(found.payload.data(), found.payload.size(), whole.data() + at,
                        found.header.packed_bytes);
      at += found.header.packed_bytes;
      parts.push_back(std::move(found));
    }
  }

  part& of(frame_type type) {
    for (part& one : parts)
      if (one.header.type == type) return one;
    return parts.emplace_back();
  }

  void write(const std::string& path) const {
    std::string whole(reinterpret_cast<const char*>(&head_), sizeof head_);
    std::vector<index_entry> index;
    for (const part& one : parts) {
      index.push_back({whole.size(), one.header.first, one.header.first_stamp, one.header.process,
                       one.index_count != 0 ? one.index_count : one.header.count,
                       static_cast<std::uint32_t>(one.payload.size()),
                       static_cast<std::uint16_t>(one.header.type), 0});
      add(whole, one.header, one.payload);
    }
    file_trailer trailer{whole.size(), 0, trailer_magic};
    trailer.crc = crc_of(trailer);
    frame_header header{};
    header.type = frame_type::index;
    header.count = static_cast<std::uint32_t>(index.size());
    const auto* const entries = reinterpret_cast<const std::uint8_t*>(index.data());
    add(whole, header, {entries, entries + index.size() * sizeof(index_entry)});
    whole.append(reinterpret_cast<const char*>(&trailer), sizeof trailer);
    std::ofstream(path, std::ios::binary) << whole;
  }

  std::vector<part> parts;

private:
  static void add(std::string& whole, frame_header header, const bytes& payload) {
    header.magic = frame_magic;
    header.codec = codec::stored;
    header.packed_bytes = header.plain_bytes = static_cast<std::uint32_t>(payload.size());
    header.payload_crc = crc32(payload);
    header.header_crc = crc_of(header);
    whole.append(reinterpret_cast<const char*>(&header), sizeof header);
    whole.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  }

  file_header head_{};
};

}  // namespace heaplab::trace
