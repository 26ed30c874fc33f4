// Memory from the operating system, by the page. Addresses and sizes are multiples of page_bytes().
// Failure is a null pointer or false; errno is left as it was, because a malloc must not disturb it
// where it succeeds in the end.
#pragma once

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/assertion.h"
#include "base/bits.h"
#include "base/errno_keeper.h"

#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif

namespace heaplab::os_pages {

inline constexpr std::size_t smallest_page_bytes = 4096;
// What must be known when the code is compiled is a multiple of these: a kernel for AArch64 has pages of 4,
// 16 or 64 KiB.
#if defined(__x86_64__)
inline constexpr std::size_t largest_page_bytes = smallest_page_bytes;
#else
inline constexpr std::size_t largest_page_bytes = 16 * smallest_page_bytes;
#endif

// The page size of the running kernel, which the C library learned when the process began.
inline std::size_t page_bytes() {
  if constexpr (smallest_page_bytes == largest_page_bytes) return smallest_page_bytes;
  return static_cast<std::size_t>(::getpagesize());
}

inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

using heaplab::errno_keeper;

// Whether [address, address + bytes) is a run of whole pages.
inline bool is_whole_pages(const void* address, std::size_t bytes) {
  return is_aligned(address, page_bytes()) && bytes % page_bytes() == 0;
}

// Bytes that a limit of the process allows; SIZE_MAX: no limit.
inline std::size_t limit_of(decltype(RLIMIT_AS) resource) {
  const errno_keeper keep;
  rlimit limit;
  return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : SIZE_MAX;
}

// Bytes of address space that the process may have.
inline std::size_t address_space_limit() {
  return limit_of(RLIMIT_AS);
}

// False: refused, as where the pages lie between others of their mapping, which would become two, and the
// process has as many mappings as it may (vm.max_map_count).
inline bool unmap(void* address, std::size_t bytes) {
  HEAPLAB_ASSERT(is_whole_pages(address, bytes));
  const errno_keeper keep;
  return bytes == 0 || ::munmap(address, bytes) == 0;
}

inline void* map(std::size_t bytes, int protection, int flags) {
  HEAPLAB_ASSERT(bytes % page_bytes() == 0);
  const errno_keeper keep;
  void* const address = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

// Maps `bytes` at a multiple of `alignment` (a power of two): maps more and returns the rest.
inline void* map_aligned(std::size_t bytes, std::size_t alignment, int protection, int flags) {
  if (alignment <= page_bytes()) return map(bytes, protection, flags);
  const std::size_t padded = bytes + alignment - page_bytes();
  if (padded < bytes) return nullptr;
  char* const start = static_cast<char*>(map(padded, protection, flags));
  if (start == nullptr) return nullptr;
  char* const aligned = reinterpret_cast<char*>(align_up(reinterpret_cast<std::uintptr_t>(start), alignment));
  const std::size_t before = static_cast<std::size_t>(aligned - start);
  unmap(start, before);
  unmap(aligned + bytes, padded - bytes - before);
  return aligned;
}

// Address space alone: no access, no memory, never counted against the overcommit limit.
inline void* reserve_without_access(std::size_t bytes, std::size_t alignment) {
  return map_aligned(bytes, alignment, PROT_NONE, MAP_NORESERVE);
}

// Makes a part of such a reservation readable and writable.
inline bool make_accessible(void* address, std::size_t bytes) {
  HEAPLAB_ASSERT(is_whole_pages(address, bytes));
  const errno_keeper keep;
  return ::mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0;
}

// Makes pages inaccessible by a mapping of their own.
inline bool make_inaccessible(void* address, std::size_t bytes) {
  HEAPLAB_ASSERT(is_whole_pages(address, bytes));
  const errno_keeper keep;
  return ::mprotect(address, bytes, PROT_NONE) == 0;
}

// Makes pages inaccessible, and loses what they hold, without a mapping of their own; false before Linux
// 6.13, and for locked pages.
inline bool install_guard(void* address, std::size_t bytes) {
  HEAPLAB_ASSERT(is_whole_pages(address, bytes));
  const errno_keeper keep;
  return ::madvise(address, bytes, MADV_GUARD_INSTALL) == 0;
}

// Makes such pages accessible again; the next touch finds zeros. Leaves other pages as they are.
inline bool remove_guard(void* address, std::size_t bytes) {
  HEAPLAB_ASSERT(is_whole_pages(address, bytes));
  const errno_keeper keep;
  return ::madvise(address, bytes, MADV_GUARD_REMOVE) == 0;
}

// Address space that costs nothing until it is touched: readable and writable, not counted against the
// overcommit limit. For what the program has not asked for yet.
inline void* reserve(std::size_t bytes, std::size_t alignment) {
  return map_aligned(bytes, alignment, PROT_READ | PROT_WRITE, MAP_NORESERVE);
}

// The same at an address. Null: something is there, or the system cannot (before Linux 4.17).
inline void* reserve_at(void* address, std::size_t bytes) {
  HEAPLAB_ASSERT(is_whole_pages(address, bytes));
  const errno_keeper keep;
  void* const start = ::mmap(address, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (start == address) return start;
  if (start != MAP_FAILED) unmap(start, bytes);
  return nullptr;
}

// Readable, writable, zero; refused where the system takes it for an obvious overcommit.
inline void* allocate(std::size_t bytes, std::size_t alignment = page_bytes()) {
  return map_aligned(bytes, alignment, PROT_READ | PROT_WRITE, 0);
}

// Resizes a mapping by moving its pages where it cannot grow in place. Null: it stays as it is.
inline void* remap(void* address, std::size_t old_bytes, std::size_t new_bytes) {
  HEAPLAB_ASSERT(is_whole_pages(address, old_bytes) && new_bytes % page_bytes() == 0);
  const errno_keeper keep;
  void* const moved = ::mremap(address, old_bytes, new_bytes, MREMAP_MAYMOVE);
  return moved == MAP_FAILED ? nullptr : moved;
}

// As remap to a larger size; comes to lie at a multiple of `alignment` if it cannot grow where it is and
// there are addresses for it.
//
// The system may refuse the move before or after it has emptied `place`, and does not say which. So only
// where nothing speaks against the move: no limit, which may leave room for one of the two places alone, no
// pages of several kinds (EFAULT), not too many locked ones (EAGAIN).
inline void* remap_aligned(void* address, std::size_t old_bytes, std::size_t new_bytes,
                           std::size_t alignment) {
  HEAPLAB_ASSERT(is_whole_pages(address, old_bytes) && new_bytes % page_bytes() == 0);
  const errno_keeper keep;
  if (::mremap(address, old_bytes, new_bytes, 0) != MAP_FAILED) return address;
  const bool may_move =
      errno == ENOMEM && limit_of(RLIMIT_AS) == SIZE_MAX && limit_of(RLIMIT_DATA) == SIZE_MAX;
  void* const place = may_move ? allocate(new_bytes, alignment) : nullptr;
  if (place == nullptr) return remap(address, old_bytes, new_bytes);
  if (::mremap(address, old_bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED)
    return place;
  // `place` may be another thread's by now: addresses are rather lost than taken away.
  return nullptr;
}

// In a child that gets a copy of the memory, the pages hold zeros.
inline bool wipe_on_fork(void* address, std::size_t bytes) {
  HEAPLAB_ASSERT(is_whole_pages(address, bytes));
  const errno_keeper keep;
  return ::madvise(address, bytes, MADV_WIPEONFORK) == 0;
}

// Gives the memory back and keeps the addresses; the next touch finds zeros.
inline bool purge(void* address, std::size_t bytes) {
  HEAPLAB_ASSERT(is_whole_pages(address, bytes));
  const errno_keeper keep;
  return ::madvise(address, bytes, MADV_DONTNEED) == 0;
}

// The same for many ranges. False: at least one of them may hold what it held.
inline bool purge_each(std::span<const iovec> ranges) {
  bool all = true;
  for (const iovec& range : ranges) all &= purge(range.iov_base, range.iov_len);
  return all;
}

// The same in one call where the kernel takes it for the caller's own memory (Linux 6.18 does): other CPUs
// are then interrupted once instead of once a range. Only on demand: a seccomp filter that kills at calls
// that few programs make kills here, and nothing tells before.
inline bool purge_at_once(std::span<const iovec> ranges) {
  const errno_keeper keep;
  constexpr long this_process = -10'000;  // PIDFD_SELF
  std::size_t bytes = 0;
  for (const iovec& range : ranges) bytes += range.iov_len;
  const long done =
      ::syscall(SYS_process_madvise, this_process, ranges.data(), ranges.size(), MADV_DONTNEED, 0);
  return (done >= 0 && static_cast<std::size_t>(done) == bytes) || purge_each(ranges);
}

// Asks for (or forbids) huge pages; only a wish.
inline bool advise_huge(void* address, std::size_t bytes, bool wanted) {
  HEAPLAB_ASSERT(is_whole_pages(address, bytes));
  const errno_keeper keep;
  return ::madvise(address, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0;
}

// Whether the 8 bytes at `address` can be read: the kernel reads them as a set of signals, for a request that
// it then refuses. Every thread of the C library makes this call, so that seccomp filters let it pass; not
// all let mincore pass.
inline bool is_readable(const void* address) {
  const errno_keeper keep;
  constexpr int no_request = -1;
  constexpr std::size_t kernel_signals_bytes = 8;
  // The lowest page holds nothing, and the kernel would take null for no set. Compared as a number: compilers
  // take the result of pointer arithmetic for not null.
  if (reinterpret_cast<std::uintptr_t>(address) < page_bytes()) return false;
  return ::syscall(SYS_rt_sigprocmask, no_request, address, nullptr, kernel_signals_bytes) == 0 ||
         errno != EFAULT;
}

// Precondition: `bytes` > 0. Compares each byte with the next, which the C library does fastest.
inline bool is_zero(const char* begin, std::size_t bytes) {
  return *begin == 0 && std::memcmp(begin, begin + 1, bytes - 1) == 0;
}

// Whether the page at `page` holds anything. False: all zero, as one that was never written, or not to be
// read.
inline bool holds_data(const void* page) {
  return is_readable(page) && !is_zero(static_cast<const char*>(page), page_bytes());
}

// Whether the 4 bytes at `word` can be read and are not `value`. Safe where another thread unmaps or writes
// them meanwhile: the kernel compares them, for a request to move no thread from one futex to another.
inline bool differs_from(const std::uint32_t* word, std::uint32_t value) {
  const errno_keeper keep;
  return ::syscall(SYS_futex, word, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, word, value) == -1 && errno == EAGAIN;
}

// The same for 8 bytes and zero. `address` is a multiple of 4.
inline bool holds_word(const void* address) {
  const auto* const word = static_cast<const std::uint32_t*>(address);
  return differs_from(word, 0) || differs_from(word + 1, 0);
}

// Touches every page in one call, so that no page fault comes later; false where the kernel cannot.
inline bool populate(void* address, std::size_t bytes) {
  HEAPLAB_ASSERT(is_whole_pages(address, bytes));
  const errno_keeper keep;
  return ::madvise(address, bytes, MADV_POPULATE_WRITE) == 0;
}

}  // namespace heaplab::os_pages
