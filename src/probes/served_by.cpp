#include "probes/served_by.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bits.h"

namespace heaplab::probes {

namespace {

struct search {
  std::uintptr_t address;
  loaded_library* found;
};

bool contains(const dl_phdr_info& object, std::uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    const std::uintptr_t start = object.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= start && address - start < segment.p_memsz) return true;
  }
  return false;
}

void put_hexadecimal(const unsigned char* bytes, std::size_t count, char* text) {
  for (std::size_t i = 0; i < count; ++i) {
    *text++ = "0123456789abcdef"[bytes[i] >> 4];
    *text++ = "0123456789abcdef"[bytes[i] & 15];
  }
  *text = '\0';
}

// Walks one segment of notes: header, name, description; name and description are padded to four bytes.
void read_notes(const char* note, std::size_t bytes, loaded_library& library) {
  const char* const end = note + bytes;
  while (static_cast<std::size_t>(end - note) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    const char* const name = note + sizeof header;
    const char* const description = name + align_up(header.n_namesz, 4);
    if (description > end || header.n_descsz > static_cast<std::size_t>(end - description)) return;
    const bool is_build_id =
        header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0;
    if (is_build_id && header.n_descsz <= (sizeof library.build_id - 1) / 2)
      return put_hexadecimal(reinterpret_cast<const unsigned char*>(description), header.n_descsz,
                             library.build_id);
    note = description + align_up(header.n_descsz, 4);
  }
}

int describe(dl_phdr_info* object, std::size_t, void* argument) {
  const search& wanted = *static_cast<search*>(argument);
  if (!contains(*object, wanted.address)) return 0;
  loaded_library& library = *wanted.found;
  std::strncpy(library.path, object->dlpi_name, sizeof library.path - 1);
  // The loader's name of the program itself is empty.
  if (library.path[0] == '\0' && ::readlink("/proc/self/exe", library.path, sizeof library.path - 1) < 0)
    library.path[0] = '\0';
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE && library.build_id[0] == '\0')
      read_notes(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz,
                 library);
  }
  return 1;
}

}  // namespace

loaded_library library_of_symbol(const char* symbol) {
  loaded_library library;
  search wanted{reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, symbol)), &library};
  if (wanted.address != 0) dl_iterate_phdr(describe, &wanted);
  return library;
}

}  // namespace heaplab::probes
