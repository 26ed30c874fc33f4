#include "recorder/loaded_code.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/compiler.h"
#include "base/errno_keeper.h"
#include "recorder/next_symbol.h"
#include "recorder/proven_table.h"
#include "recorder/system_call_filters.h"

namespace heaplab::recorder {

namespace {

// struct dl_find_object of glibc, which older headers lack.
struct found_object {
  unsigned long long flags;
  std::uint64_t begin;
  std::uint64_t end;
  void* link_map;
  std::uint64_t eh_frame_header;
  unsigned long long reserved[7];
};

constinit next_symbol<int(std::uint64_t, found_object*)> find_object("_dl_find_object");
constinit bool is_prepared = false;  // set once

constexpr std::size_t most_files = 1024;  // of which unwind information is held; others have no rows
constexpr std::size_t most_bytes = std::size_t{1} << 30;

struct loaded_file {
  // release/acquire: who sees true sees the table, which is never changed again.
  atomic<bool> is_ready = false;
  // The value of times_unloaded at the last check that this file still lies at its addresses. relaxed: a
  // thread that misses a change checks again.
  atomic<std::uint32_t> checked = 0;
  unwind_table table;
};

constinit loaded_file files[most_files];
constinit atomic<std::size_t> files_begun = 0;  // relaxed: each file tells when it is ready
constinit proven_table<std::size_t{1} << 14> rows{};

bool read_memory(std::uint64_t from, void* into, std::size_t bytes) {
  const iovec to{into, bytes};
  const iovec of{reinterpret_cast<void*>(from), bytes};
  return ::process_vm_readv(::getpid(), &to, 1, &of, 1, 0) == static_cast<ssize_t>(bytes);
}

// A copy that stays. Empty: there is no room, or nothing to read.
bytes_view copy_of(std::uint64_t from, std::uint64_t bytes) {
  if (bytes == 0 || bytes > most_bytes) return {};
  void* const copy =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (copy == MAP_FAILED) return {};
  if (read_memory(from, copy, bytes)) return {static_cast<const unsigned char*>(copy), bytes};
  ::munmap(copy, bytes);
  return {};
}

void drop(bytes_view copy) {
  if (!copy.empty()) ::munmap(const_cast<unsigned char*>(copy.data()), copy.size());
}

// False: the file has no unwind information of a known form.
bool copy_table(const found_object& of, unwind_table& into) {
  const std::uint64_t header_at = of.eh_frame_header;
  unsigned char head[unwind_table::head_bytes];
  unwind_table::extent told{};
  if (!read_memory(header_at, head, sizeof head) || !unwind_table::read_head(head, header_at, told))
    return false;
  const auto is_within = [&](std::uint64_t from) { return from >= of.begin && from < of.end; };
  if (!is_within(header_at) || !is_within(told.frames_at)) return false;
  into.header_at = header_at;
  into.frames_at = told.frames_at;
  into.header = copy_of(header_at, sizeof head + told.functions * unwind_table::entry_bytes);
  const std::uint64_t last = unwind_table::last_frame(into.header, header_at);
  std::uint32_t length = 0;
  if (last >= told.frames_at && is_within(last) && read_memory(last, &length, sizeof length) &&
      length < of.end - last)
    into.frames = copy_of(told.frames_at, last - told.frames_at + sizeof length + length);
  if (!into.frames.empty()) return true;
  drop(into.header);
  return false;
}

// Whether what was copied is still there.
bool is_at(std::uint64_t address, bytes_view copy) {
  unsigned char now[1024];
  for (; !copy.empty(); address += sizeof now, copy = copy.subspan(std::min(sizeof now, copy.size()))) {
    const std::size_t bytes = std::min(sizeof now, copy.size());
    if (!read_memory(address, now, bytes) || std::memcmp(now, copy.data(), bytes) != 0) return false;
  }
  return true;
}

// Whether the table is that of the file with this header: another file may have been unloaded from there.
bool is_of(loaded_file& file, std::uint64_t header_at, std::uint32_t unloaded) {
  if (!file.is_ready.load(std::memory_order_acquire) || file.table.header_at != header_at) return false;
  if (file.checked.load(std::memory_order_relaxed) == unloaded) return true;
  if (!is_at(header_at, file.table.header) || !is_at(file.table.frames_at, file.table.frames)) return false;
  file.checked.store(unloaded, std::memory_order_relaxed);
  return true;
}

const unwind_table* table_of(const found_object& of, std::uint32_t unloaded) {
  const std::size_t begun = std::min(files_begun.load(std::memory_order_relaxed), most_files);
  for (loaded_file& file : std::span(files, begun))
    if (is_of(file, of.eh_frame_header, unloaded)) return &file.table;
  unwind_table made{};
  if (begun == most_files || !copy_table(of, made)) return nullptr;
  const std::size_t number = files_begun.fetch_add(1, std::memory_order_relaxed);
  if (number >= most_files) return nullptr;
  files[number].table = made;
  files[number].checked.store(unloaded, std::memory_order_relaxed);
  files[number].is_ready.store(true, std::memory_order_release);
  return &files[number].table;
}

HEAPLAB_SLOW_PATH unwind_row look_up_row(std::uint64_t code, std::uint32_t unloaded) {
  found_object found{};
  if (find_object.get()(code, &found) != 0 || found.eh_frame_header == 0) return {};
  const unwind_table* const table = table_of(found, unloaded);
  return table == nullptr ? unwind_row{} : table->row_of(code);
}

}  // namespace

bool prepare_loaded_code() {
#if defined(__x86_64__)
  look_up(find_object);
  is_prepared = find_object.get() != nullptr;
#endif
  return is_prepared;
}

unwind_row row_at(std::uint64_t code) {
  if (!is_prepared) return {};
  const std::uint32_t unloaded = times_unloaded.load(std::memory_order_acquire);
  const std::uint64_t key = mix(mix(0, unloaded), code);
  if (const std::uint64_t known = rows.find(key)) return std::bit_cast<unwind_row>(known);
  if (!may_call_system()) return {};
  const errno_keeper keep;
  const unwind_row row = look_up_row(code, unloaded);
  rows.put(key, std::bit_cast<std::uint64_t>(row));
  return row;
}

}  // namespace heaplab::recorder
