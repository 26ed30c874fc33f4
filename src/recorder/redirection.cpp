#include "recorder/redirection.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <span>

#include "base/bits.h"
#include "base/os_pages.h"
#include "recorder/redirected_call.h"

#ifdef __x86_64__
namespace heaplab::recorder {
namespace {

constexpr std::size_t page = os_pages::smallest_page_bytes;
constexpr std::size_t longest_path = 4096;

// A file of the recording's folder, or null.
const char* path_in(const char* folder, const char* name, char (&room)[longest_path]) {
  if (strlen(folder) + strlen(name) + 2 > sizeof room) return nullptr;
  stpcpy(stpcpy(stpcpy(room, folder), "/"), name);
  return room;
}

// The functions that are to be redirected; null if there are none.
const redirection_header* functions_told(const char* folder) {
  char room[longest_path];
  const char* const path = path_in(folder, "functions", room);
  const int opened = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (opened < 0) return nullptr;
  struct stat status{};
  void* at = MAP_FAILED;
  if (::fstat(opened, &status) == 0 && static_cast<std::size_t>(status.st_size) >= sizeof(redirection_header))
    at = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, opened, 0);
  ::close(opened);
  const auto* const found = static_cast<const redirection_header*>(at);
  return at == MAP_FAILED || found->magic != redirection_magic ? nullptr : found;
}

bool is_this_program(const redirection_header& functions) {
  struct stat status{};
  return ::stat("/proc/self/exe", &status) == 0 && status.st_dev == functions.device &&
         status.st_ino == functions.inode;
}

// What the loader added to the addresses of the program's file, and the lowest address of the program.
struct place {
  std::uint64_t bias, lowest;
};

place place_of_program() {
  place found{};
  const auto first = [](dl_phdr_info* of, std::size_t, void* to) {
    auto& told = *static_cast<place*>(to);
    told.bias = of->dlpi_addr;
    told.lowest = UINT64_MAX;
    for (const auto& segment : std::span(of->dlpi_phdr, of->dlpi_phnum))
      if (segment.p_type == PT_LOAD && told.bias + segment.p_vaddr < told.lowest)
        told.lowest = told.bias + segment.p_vaddr;
    return 1;
  };
  dl_iterate_phdr(first, &found);
  return found;
}

// Memory below the program, so near that displacements of 32 bits reach its data from there. Above a program
// its heap grows (brk).
void* map_near(std::uint64_t lowest, std::size_t bytes) {
  constexpr std::uint64_t nearest = 1 << 16, furthest = std::uint64_t{1} << 30, step = 1 << 16;
  for (std::uint64_t below = nearest + bytes; below < furthest && below < lowest; below += step) {
    void* const wanted = reinterpret_cast<void*>((lowest - below) / page * page);
    void* const at = ::mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == wanted) return at;
    if (at != MAP_FAILED) ::munmap(at, bytes);  // a kernel that does not know the flag
  }
  return nullptr;
}

bool change_protection(std::uint64_t function, std::size_t bytes, int protection) {
  const std::uint64_t begin = function / page * page;
  return ::mprotect(reinterpret_cast<void*>(begin), align_up(function + bytes - begin, page), protection) ==
         0;
}

// Replaces the first instructions of a function by a jump. Precondition: no other thread exists, and the code
// can be written.
void replace(std::uint64_t function, const redirected_entry& entry) {
  constexpr std::uint8_t jump = 0xE9, breakpoint = 0xCC;
  const std::uint64_t next = function + 1 + sizeof(std::int32_t);
  const auto distance = static_cast<std::int32_t>(reinterpret_cast<std::uint64_t>(entry.enter) - next);
  auto* const code = reinterpret_cast<std::uint8_t*>(function);
  memset(code, breakpoint, entry.function.replaced);
  code[0] = jump;
  memcpy(code + 1, &distance, sizeof distance);
}

// Why the functions are not redirected, in words; null if they are.
const char* redirect(const redirection_header& told) {
  const std::span functions(reinterpret_cast<const redirected_function*>(&told + 1), told.count);
  const auto [bias, lowest] = place_of_program();
  const std::size_t bytes = align_up(functions.size() * sizeof(redirected_entry), page);
  auto* const entries = static_cast<redirected_entry*>(map_near(lowest, bytes));
  if (entries == nullptr) return "there is no memory near its code";
  for (std::size_t number = 0; number < functions.size(); ++number) {
    entries[number].function = functions[number];
    const std::uint64_t at = bias + functions[number].address;
    if (memcmp(reinterpret_cast<const void*>(at), functions[number].original, functions[number].replaced) !=
        0)
      return "its code is not that of its file";
    if (!write_code(entries[number], at)) return "its data lies too far from its code";
  }
  if (::mprotect(entries, bytes, PROT_READ | PROT_EXEC) != 0) return "the system allows no new code in it";
  for (const redirected_function& function : functions)
    if (!change_protection(bias + function.address, function.replaced, PROT_READ | PROT_WRITE | PROT_EXEC))
      return "the system does not let its code be changed";
  for (std::size_t number = 0; number < functions.size(); ++number)
    replace(bias + functions[number].address, entries[number]);
  for (const redirected_function& function : functions)
    change_protection(bias + function.address, function.replaced, PROT_READ | PROT_EXEC);
  return nullptr;
}

void tell(const char* folder, const char* why) {
  char room[longest_path];
  const char* const path = path_in(folder, "not-redirected", room);
  const int opened = path == nullptr ? -1 : ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (opened < 0) return;
  const ssize_t ignored [[maybe_unused]] = ::write(opened, why, strlen(why));
  ::close(opened);
}

// Before any other thread exists, and before the program's own code runs.
[[gnu::constructor]] void redirect_from_the_start() {
  const char* const folder = secure_getenv("HEAPLAB_RECORD");
  const redirection_header* const told = folder == nullptr ? nullptr : functions_told(folder);
  if (told == nullptr || !is_this_program(*told)) return;
  if (const char* const why = redirect(*told))
    tell(folder, why);
  else
    functions_are_redirected = true;
}

}  // namespace
}  // namespace heaplab::recorder
#endif
