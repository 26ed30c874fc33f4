#include "recorder/redirection.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/bits.h"
#include "base/os_pages.h"
#include "moving/jump.h"
#include "recorder/process_file.h"
#include "recorder/redirected_call.h"

namespace heaplab::recorder {
namespace {

using moving::furthest_entry, moving::jump_bytes;

constexpr std::size_t longest_path = 4096;

// A file of the recording's folder, or null.
const char* path_in(const char* folder, const char* name, char (&room)[longest_path]) {
  if (strlen(folder) + strlen(name) + 2 > sizeof room) return nullptr;
  stpcpy(stpcpy(stpcpy(room, folder), "/"), name);
  return room;
}

// The functions that a recording's folder tells of.
class told_functions {
public:
  explicit told_functions(const char* folder) {
    char room[longest_path];
    const char* const path = folder == nullptr ? nullptr : path_in(folder, "functions", room);
    const int opened = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
    if (opened < 0) return;
    struct stat status{};
    if (::fstat(opened, &status) == 0 &&
        static_cast<std::size_t>(status.st_size) >= sizeof(redirection_header)) {
      bytes_ = static_cast<std::size_t>(status.st_size);
      at_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, opened, 0);
    }
    ::close(opened);
  }
  told_functions(const told_functions&) = delete;
  told_functions& operator=(const told_functions&) = delete;
  ~told_functions() {
    if (at_ != MAP_FAILED) ::munmap(at_, bytes_);
  }

  bool are_there() const { return at_ != MAP_FAILED && header().magic == redirection_magic; }
  // Precondition: they are there.
  const redirection_header& header() const { return *static_cast<const redirection_header*>(at_); }
  std::span<const redirected_function> all() const {
    return {reinterpret_cast<const redirected_function*>(&header() + 1), header().count};
  }

private:
  void* at_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

// What emulates a processor, such as qemu, shows the program where the file is opened.
bool is_this_program(const redirection_header& functions) {
  const int opened = ::open("/proc/self/exe", O_PATH | O_CLOEXEC);
  if (opened < 0) return false;
  struct stat status{};
  const bool is_known = ::fstat(opened, &status) == 0;
  ::close(opened);
  return is_known && status.st_dev == functions.device && status.st_ino == functions.inode;
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

// Memory so near to code that displacements reach the code's data from there: below the code if that is free,
// since above a program its heap grows (brk). Below the C library there may be many stacks.
void* map_near(std::uint64_t code, std::size_t bytes) {
  constexpr std::uint64_t nearest = 1 << 16, step = 1 << 16;
  for (const bool is_above : {false, true}) {
    for (std::uint64_t distance = nearest + bytes; distance < furthest_entry; distance += step) {
      if (!is_above && distance >= code) break;
      const std::uint64_t place = is_above ? code + distance : code - distance;
      void* const wanted = reinterpret_cast<void*>(place / step * step);
      void* const at = ::mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (at == wanted) return at;
      if (at != MAP_FAILED) ::munmap(at, bytes);  // a kernel that does not know the flag
    }
  }
  return nullptr;
}

bool change_protection(std::uint64_t function, std::size_t bytes, int protection) {
  const std::size_t page = os_pages::page_bytes();
  const std::uint64_t begin = function / page * page;
  return ::mprotect(reinterpret_cast<void*>(begin), align_up(function + bytes - begin, page), protection) ==
         0;
}

bool is_near(std::uint64_t function, const redirected_entry* entries) {
  const auto at = reinterpret_cast<std::uint64_t>(entries);
  return std::max(function, at) - std::min(function, at) < furthest_entry;
}

bool has_code(std::uint64_t address, const void* code, std::size_t bytes) {
  return memcmp(reinterpret_cast<const void*>(address), code, bytes) == 0;
}

// The entries of this process. They stay, since a thread may be in one at any time; who attaches again finds
// them.
class redirections {
public:
  // Why the functions cannot be redirected, in words; null: each has an entry.
  const char* prepare(std::span<const redirected_function> functions, const place& at) {
    if (functions.size() > most) return "too many functions are named";
    count_ = 0;
    for (const redirected_function& told : functions) {
      redirected_function function = told;
      function.address += at.bias;
      redirected_entry* entry = find(function.address);
      if (entry == nullptr) {
        if (!has_code(function.address, function.original, function.replaced))
          return "its code is not that of its file";
        entry = room_for(function.address, at.lowest, functions.size());
        if (entry == nullptr) return "there is no memory near its code";
        entry->function = function;
        if (!write_code(*entry)) return "its data lies too far from its code";
        ++regions_[used_ - 1].count;
      }
      entries_[count_++] = entry;
    }
    if (count_ != 0) first_redirected.store(entries_[0]->function.address, std::memory_order_relaxed);
    for (region& each : std::span(regions_, used_)) {
      if (::mprotect(each.entries, each.bytes, PROT_READ | PROT_EXEC) != 0)
        return "the system allows no new code in it";
      each.is_code = true;
    }
    return nullptr;
  }

  // Precondition: no other thread exists.
  const char* write_jumps() const {
    for (const redirected_entry* const entry : all())
      if (!change_protection(entry->function.address, jump_bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
        return "the system does not let its code be changed";
    for (const redirected_entry* const entry : all()) {
      const std::uint64_t function = entry->function.address;
      const auto jump = moving::jump(function, reinterpret_cast<std::uint64_t>(entry->enter));
      void* const code = reinterpret_cast<void*>(function);
      memcpy(code, jump.data(), jump.size());
      publish(code, jump.size());
    }
    for (const redirected_entry* const entry : all())
      change_protection(entry->function.address, jump_bytes, PROT_READ | PROT_EXEC);
    return nullptr;
  }

  // Their addresses, in the order of the functions.
  const redirected_entry* const* addresses() const { return entries_; }

private:
  static constexpr std::size_t most = 512, most_regions = 16;

  struct region {
    redirected_entry* entries;
    std::size_t count, bytes;
    bool is_code;  // and not written any more
  };

  std::span<const redirected_entry* const> all() const { return {entries_, count_}; }

  redirected_entry* find(std::uint64_t function) const {
    for (const region& each : std::span(regions_, used_))
      for (redirected_entry& entry : std::span(each.entries, each.count))
        if (entry.function.address == function) return &entry;
    return nullptr;
  }

  // Room for an entry in the last region, if that is near and can still be written, or in a new one.
  redirected_entry* room_for(std::uint64_t function, std::uint64_t lowest, std::size_t wanted) {
    if (used_ != 0) {
      const region& last = regions_[used_ - 1];
      const bool has_room = (last.count + 1) * sizeof(redirected_entry) <= last.bytes;
      if (!last.is_code && has_room && is_near(function, last.entries)) return last.entries + last.count;
    }
    if (used_ == most_regions) return nullptr;
    const std::size_t bytes = align_up(wanted * sizeof(redirected_entry), os_pages::page_bytes());
    auto* const made = static_cast<redirected_entry*>(map_near(lowest != 0 ? lowest : function, bytes));
    if (made == nullptr) return nullptr;
    regions_[used_++] = {made, 0, bytes, false};
    return is_near(function, made) ? made : nullptr;
  }

  region regions_[most_regions]{};
  std::size_t used_ = 0;
  redirected_entry* entries_[most]{};
  std::size_t count_ = 0;
};

constinit redirections here{};

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
  const told_functions told(folder);
  if (!told.are_there() || !is_this_program(told.header())) return;
  const char* why = here.prepare(told.all(), place_of_program());
  if (why == nullptr) why = here.write_jumps();
  if (why != nullptr) tell(folder, why);
}

}  // namespace
}  // namespace heaplab::recorder

// Called in a process that runs already, by a thread that heaplab has chosen: the addresses of the entries of
// the functions that the folder names; null if it cannot be recorded there.
extern "C" HEAPLAB_EXPORT const void* heaplab_recorder_attach(const char* folder) {
  using namespace heaplab::recorder;
  const told_functions told(folder);
  if (!told.are_there()) return nullptr;
  if (const char* const why = here.prepare(told.all(), {})) return tell(folder, why), nullptr;
  return begin_again(folder) ? here.addresses() : nullptr;
}
