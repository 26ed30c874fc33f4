#include "recorder/build_ids.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/bits.h"
#include "recorder/hexadecimal.h"

namespace heaplab::recorder {

namespace {

using bytes_view = std::span<const unsigned char>;

constexpr std::size_t most_id_bytes = 64;
constexpr std::size_t most_note_bytes = 512;  // of a segment of notes that are searched for a build-id
constexpr unsigned most_segments = 64;

unsigned digit_of(char c) {
  return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
}

// A line of /proc/self/maps as far as it is read: START-END PERMISSIONS OFFSET DEVICE INODE PATH
struct maps_line {
  unsigned field = 0;
  bool behind_start = false;
  bool readable = false;
  std::uint64_t start = 0;
  std::uint64_t offset = 0;
  std::uint64_t inode = 0;

  void add(char c) {
    if (c == ' ' && field < 5)
      ++field;
    else if (field == 0 && c == '-')
      behind_start = true;
    else if (field == 0 && !behind_start)
      start = start << 4 | digit_of(c);
    else if (field == 1)
      readable |= c == 'r';
    else if (field == 2)
      offset = offset << 4 | digit_of(c);
    else if (field == 4)
      inode = inode << 4 | digit_of(c);
  }

  bool begins_file() const { return readable && offset == 0 && inode != 0; }
};

// Reads memory through /proc/self/mem: another thread may unmap a library meanwhile, and then the read fails.
class memory_reader {
public:
  memory_reader() : memory_(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) {}
  ~memory_reader() { ::close(memory_); }
  memory_reader(const memory_reader&) = delete;
  memory_reader& operator=(const memory_reader&) = delete;

  template <class Value>
  bool read(std::uint64_t from, Value* into, std::size_t count = 1) const {
    const std::size_t bytes = count * sizeof(Value);
    return ::pread(memory_, into, bytes, static_cast<off_t>(from)) == static_cast<ssize_t>(bytes);
  }

private:
  int memory_;
};

// The build-id among the notes; empty if there is none.
bytes_view id_among(bytes_view notes) {
  constexpr std::size_t step = 4;
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr head;
    std::memcpy(&head, notes.data(), sizeof head);
    const std::size_t id = sizeof head + align_up(std::size_t{head.n_namesz}, step);
    const std::size_t end = id + align_up(std::size_t{head.n_descsz}, step);
    if (end > notes.size()) break;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof ELF_NOTE_GNU &&
        head.n_descsz <= most_id_bytes &&
        std::memcmp(notes.data() + sizeof head, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0)
      return notes.subspan(id, head.n_descsz);
    notes = notes.subspan(end);
  }
  return {};
}

void write_id(int to, std::uint64_t start, bytes_view id) {
  char line[32 + 2 * most_id_bytes];
  line[0] = '#';
  char* end = add_hex(line + 1, start);
  *end++ = ' ';
  for (const unsigned char byte : id) {
    *end++ = hexadecimal_digits[byte >> 4];
    *end++ = hexadecimal_digits[byte & 15];
  }
  *end++ = '\n';
  const ssize_t ignored [[maybe_unused]] = ::write(to, line, static_cast<std::size_t>(end - line));
}

// Precondition: the beginning of a file, perhaps not of an ELF file, is mapped at `start`.
void append_id(int to, const memory_reader& memory, std::uint64_t start) {
  Elf64_Ehdr head;
  if (!memory.read(start, &head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
    return;
  std::uint64_t bias = start;
  Elf64_Phdr segment;
  for (unsigned number = 0; number < std::min<unsigned>(head.e_phnum, most_segments); ++number) {
    if (!memory.read(start + head.e_phoff + number * sizeof segment, &segment)) return;
    if (segment.p_type == PT_LOAD && segment.p_offset == 0) bias = start - segment.p_vaddr;
  }
  for (unsigned number = 0; number < std::min<unsigned>(head.e_phnum, most_segments); ++number) {
    unsigned char notes[most_note_bytes];
    if (!memory.read(start + head.e_phoff + number * sizeof segment, &segment)) return;
    const std::size_t bytes = std::min<std::size_t>(segment.p_filesz, sizeof notes);
    if (segment.p_type != PT_NOTE || !memory.read(bias + segment.p_vaddr, notes, bytes)) continue;
    if (const bytes_view id = id_among({notes, bytes}); !id.empty()) return write_id(to, start, id);
  }
}

}  // namespace

void append_build_ids(int to) {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  const memory_reader memory;
  maps_line line;
  char piece[1024];
  for (ssize_t got = 0; (got = ::read(maps, piece, sizeof piece)) > 0;)
    for (const char c : std::string_view(piece, static_cast<std::size_t>(got))) {
      if (c != '\n') {
        line.add(c);
        continue;
      }
      if (line.begins_file()) append_id(to, memory, line.start);
      line = {};
    }
  ::close(maps);
}

}  // namespace heaplab::recorder
