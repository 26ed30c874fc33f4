// Prints the rows of an ELF file for code addresses from its input, in hexadecimal: RULE OFFSET SAVED.
// Usage: unwind_rows_of FILE
#include <elf.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "recorder/unwind_rows.h"

namespace {

using namespace heaplab::recorder;

class image {
public:
  explicit image(const char* path) {
    std::ifstream stream(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(stream), {});
  }

  // From an address up to the end of what the file loads with it.
  bytes_view from(std::uint64_t address) const {
    for (const Elf64_Phdr& part : segments())
      if (part.p_type == PT_LOAD && address - part.p_vaddr < part.p_filesz)
        return bytes_view(bytes_).subspan(part.p_offset + (address - part.p_vaddr),
                                          part.p_filesz - (address - part.p_vaddr));
    return {};
  }

  unwind_table table() const {
    std::uint64_t header_at = 0;
    for (const Elf64_Phdr& part : segments())
      if (part.p_type == PT_GNU_EH_FRAME) header_at = part.p_vaddr;
    unwind_table::extent told{};
    if (!unwind_table::read_head(from(header_at), header_at, told)) return {};
    const std::size_t bytes = unwind_table::head_bytes + told.functions * unwind_table::entry_bytes;
    return {from(header_at).first(bytes), header_at, from(told.frames_at), told.frames_at};
  }

private:
  std::vector<Elf64_Phdr> segments() const {
    Elf64_Ehdr head;
    std::memcpy(&head, bytes_.data(), sizeof head);
    std::vector<Elf64_Phdr> found(head.e_phnum);
    std::memcpy(found.data(), bytes_.data() + head.e_phoff, found.size() * sizeof found[0]);
    return found;
  }

  std::vector<unsigned char> bytes_;
};

}  // namespace

int main(int, char** words) {
  const image file(words[1]);
  const unwind_table table = file.table();
  for (std::uint64_t code; std::cin >> std::hex >> code;) {
    const unwind_row row = table.row_of(code);
    std::cout << std::dec << unsigned(row.rule) << ' ' << row.offset << ' ' << row.saved_frame_pointer
              << '\n';
  }
  return 0;
}
