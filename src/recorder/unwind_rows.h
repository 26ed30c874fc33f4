// Rows of unwind information: where a function's caller is found, while the function stands at an address of
// its code. From .eh_frame (Linux Standard Base, "Exception Frames", and DWARF 5, section 6.4), as compilers
// write it for x86-64 also without frame pointers.
//
// The bytes come from files that nobody has checked. Every read is within the given bytes, every loop
// consumes some, and what is not understood gives no row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heaplab::recorder {

using bytes_view = std::span<const unsigned char>;

// The canonical frame address (CFA) is the caller's stack pointer after the return; the return address is in
// the word below it.
struct unwind_row {
  enum class cfa : std::uint8_t {
    unknown = 1,       // no row
    outermost,         // there is no caller
    stack_pointer,     // the stack pointer and `offset`
    frame_pointer,     // the frame pointer and `offset`
    at_frame_pointer,  // what is stored at the frame pointer and `offset`
    signal,            // the system called: what it interrupted is stored at the stack pointer
  };
  // In place of an offset, which is a multiple of 8:
  static constexpr std::int16_t not_saved = 1;     // the caller's frame pointer is still in the register
  static constexpr std::int16_t overwritten = -1;  // the caller's frame pointer is lost

  std::int32_t offset = 0;
  // Where the caller's frame pointer is stored: from the CFA, of at_frame_pointer from the frame pointer.
  std::int16_t saved_frame_pointer = overwritten;
  cfa rule = cfa::unknown;
  std::uint8_t unused = 0;

  bool operator==(const unwind_row&) const = default;
};
static_assert(sizeof(unwind_row) == 8);

// The unwind information of a loaded file: .eh_frame_hdr, a table of functions that ascend by address, and
// .eh_frame. Addresses are those in memory; the bytes may be a copy.
struct unwind_table {
  static constexpr std::size_t head_bytes = 12;  // of .eh_frame_hdr, before the table
  static constexpr std::size_t entry_bytes = 8;  // of the table

  // The head of .eh_frame_hdr.
  struct extent {
    std::size_t functions;
    std::uint64_t frames_at;  // .eh_frame
  };

  // False: the head has another form than the linkers GNU ld, gold, lld and mold write.
  static bool read_head(bytes_view head, std::uint64_t header_at, extent& found);
  // The address of the last entry of .eh_frame that the table names; 0: the table is empty.
  static std::uint64_t last_frame(bytes_view header, std::uint64_t header_at);

  unwind_row row_of(std::uint64_t code) const;

  bytes_view header;
  std::uint64_t header_at = 0;
  bytes_view frames;
  std::uint64_t frames_at = 0;
};

}  // namespace heaplab::recorder
