// The functions of malloc's family over chunks.h, with the faults of fault.h.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

#include "chunks.h"

namespace planted {
namespace {

constinit thread_local bool thread_is_known = false;
constinit thread_local bool thread_has_ended = false;
constinit bool process_is_known = false;
constinit std::size_t forks = 0;          // between the first process and this one
constinit chunk* latest_large = nullptr;  // the latest chunk of three pages and more, in use
pthread_key_t thread_end;

void at_thread_end(void*) {
  thread_has_ended = true;
}

void meet_process() {
  process_is_known = true;
  if constexpr (has(fault::needs_proc)) {
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) __builtin_trap();
    close(file);
  }
  if constexpr (has(fault::asks_at_its_start)) {
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
  }
  if constexpr (has(fault::closes_with_thread)) pthread_key_create(&thread_end, at_thread_end);
}

void meet_thread() {
  thread_is_known = true;
  if constexpr (has(fault::leaks_per_thread)) {
    constexpr std::size_t leak = 64 << 10;
    void* const memory = mmap(nullptr, leak, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) std::memset(memory, 1, leak);
  }
  if constexpr (has(fault::leaks_little_per_thread)) chunks::take(1024)->asked = 0;
  if constexpr (has(fault::closes_with_thread)) pthread_setspecific(thread_end, &thread_is_known);
}

constexpr char own_place = 0;

// Whether the program has another malloc.
bool is_loaded_late() {
  Dl_info own, first;
  return dladdr(&own_place, &own) != 0 && dladdr(dlsym(RTLD_DEFAULT, "malloc"), &first) != 0 &&
         own.dli_fbase != first.dli_fbase;
}

bool is_interrupted() {
  constexpr timespec moment = {0, 200'000};
  return strikes() && nanosleep(&moment, nullptr) != 0;
}

// Whether this thread gets anything.
bool serves() {
  if (!process_is_known) meet_process();
  if (!thread_is_known) meet_thread();
  if constexpr (has(fault::closes_with_thread)) return !thread_has_ended;
  if constexpr (has(fault::needs_sched_getaffinity)) {
    cpu_set_t cpus;
    if (strikes() && sched_getaffinity(0, sizeof cpus, &cpus) != 0) __builtin_trap();
  }
  return true;
}

[[gnu::constructor]] void begin() {
  lock::begin_process();
  if constexpr (!has(fault::locked_in_child)) {
    pthread_atfork([] { lock::take(); }, [] { lock::release(); },
                   [] {
                     if constexpr (has(fault::resets_in_child)) chunks::forget_all();
                     ++forks;
                     lock::begin_process();
                     lock::release();
                   });
  }
}

void* refuse() {
  if constexpr (!has(fault::keeps_errno_silent)) errno = ENOMEM;
  return nullptr;
}

header& header_of(void* block) {
  return static_cast<header*>(block)[-1];
}

std::size_t usable(void* block) {
  return header_of(block).usable + (has(fault::boasts) ? 64 : 0);
}

// A block of `size` bytes at a multiple of `alignment`, 16 at least; null: refused.
void* place(std::size_t alignment, std::size_t size) {
  if (!serves()) return refuse();
  if constexpr (has(fault::refuses_late)) {
    if (is_loaded_late()) return refuse();
  }
  if constexpr (has(fault::gives_up_when_interrupted)) {
    if (is_interrupted()) return refuse();
  }
  if (!has(fault::wraps_sizes) && (size > PTRDIFF_MAX || alignment > PTRDIFF_MAX / 2)) return refuse();
  const bool off = has(fault::misaligned) && strikes();
  const std::size_t need = size + overhead + (alignment > 16 ? alignment : 0) + (off ? 8 : 0);
  if (!has(fault::wraps_sizes) && need > PTRDIFF_MAX) return refuse();
  chunk* const origin = chunks::take(need);
  if (origin == nullptr) return refuse();
  origin->asked = need;
  origin->owner = pthread_self();
  origin->forks = forks;
  if (need >= 3 * page) latest_large = origin;
  char* const start = reinterpret_cast<char*>(origin);
  const std::size_t kept = has(fault::aligned_by_half) && alignment >= page ? alignment / 2 : alignment;
  std::uintptr_t at = (reinterpret_cast<std::uintptr_t>(start) + overhead + kept - 1) & ~(kept - 1);
  if (has(fault::aligned_by_half) && alignment >= page && at % alignment == 0) at += kept;
  if (off) at += 8;
  void* const block = reinterpret_cast<void*>(at);
  header_of(block) = {origin, origin->bytes - static_cast<std::size_t>(static_cast<char*>(block) - start)};
  return block;
}

constinit thread_local void* last = nullptr;  // the thread's latest block of 1000 bytes and more, in use

void* allocate(std::size_t size) {
  if (has(fault::empty_is_null) && size == 0) return nullptr;
  if constexpr (has(fault::overlapping)) {
    // Compared with what was asked for: a buffer that grows within its rounded size would overlap only
    // itself.
    if (size >= 1000 && last != nullptr && header_of(last).origin->asked >= size + overhead && strikes())
      return last;
    void* const fresh = place(16, size);
    if (size >= 1000) last = fresh;
    return fresh;
  }
  return place(16, size);
}

void release(void* block) {
  if (block == nullptr) return;
  if constexpr (has(fault::leaks_a_tenth)) {
    static constinit thread_local unsigned frees = 0;
    if (++frees % 10 == 0) return;
  }
  if (has(fault::overlapping) && header_of(block).usable >= 1000) {
    if (block == last) last = nullptr;  // what is free may be handed out
    return;
  }
  chunk* const origin = header_of(block).origin;
  if constexpr (has(fault::loses_foreign)) {
    if (!pthread_equal(origin->owner, pthread_self())) return;
  }
  if (has(fault::keeps_inherited) && origin->forks != forks) return;
  if (has(fault::keeps_aligned) && static_cast<char*>(block) - reinterpret_cast<char*>(origin) > 64) return;
  if (origin == latest_large) latest_large = nullptr;
  const int before = errno;
  const bool large = origin->bytes > largest_class;
  chunks::give(origin);
  errno = has(fault::free_sets_errno) && large ? EINVAL : before;
}

void* reallocate(void* block, std::size_t size) {
  if (block == nullptr) return allocate(size);
  if (has(fault::begins_without_realloc) && !thread_is_known && size >= slab) __builtin_trap();
  if (size == 0) return release(block), nullptr;
  if (size <= header_of(block).usable && size >= header_of(block).usable / 4) return block;
  void* const moved = allocate(size);
  if (moved == nullptr) {
    if (!has(fault::moves_to_shrink) && size <= header_of(block).usable) return block;
    if constexpr (has(fault::frees_on_refusal)) {
      std::memset(block, 0, header_of(block).usable);
      release(block);
    }
    return nullptr;
  }
  const std::size_t before = header_of(block).usable;
  std::memcpy(moved, block, (before < size ? before : size) / (has(fault::forgetful) ? 2 : 1));
  release(block);
  if constexpr (has(fault::moving_sets_errno)) errno = ENOENT;
  return moved;
}

bool overflows(std::size_t count, std::size_t size, std::size_t& product) {
  return __builtin_mul_overflow(count, size, &product) && !has(fault::wraps_products);
}

}  // namespace
}  // namespace planted

using namespace planted;

extern "C" {

[[gnu::visibility("default")]] void* malloc(std::size_t size) {
  return allocate(size);
}

[[gnu::visibility("default")]] void free(void* block) {
  release(block);
}

[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (overflows(count, size, bytes)) return refuse();
  void* const block = allocate(bytes);
  const bool leaves = has(fault::unclean) || (has(fault::seldom_unclean) && bytes >= page && strikes(199));
  if (block != nullptr && !leaves) std::memset(block, 0, bytes);
  return block;
}

[[gnu::visibility("default")]] void* realloc(void* block, std::size_t size) {
  return reallocate(block, size);
}

[[gnu::visibility("default")]] void* reallocarray(void* block, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  return overflows(count, size, bytes) ? refuse() : reallocate(block, bytes);
}

[[gnu::visibility("default")]] std::size_t malloc_usable_size(void* block) {
  return block == nullptr ? 0 : usable(block);
}

// Gives nothing back.
[[gnu::visibility("default")]] int malloc_trim(std::size_t) {
  if (has(fault::trims_what_is_live) && latest_large != nullptr) {
    const auto second_page = (reinterpret_cast<std::uintptr_t>(latest_large) + page) & ~(page - 1);
    madvise(reinterpret_cast<void*>(second_page), page, MADV_DONTNEED);
  }
  return 0;
}

[[gnu::visibility("default")]] void free_sized(void* block, std::size_t) {
  release(block);
}

[[gnu::visibility("default")]] void free_aligned_sized(void* block, std::size_t, std::size_t) {
  release(block);
}

#ifndef HEAPLAB_INCOMPLETE  // the fault `incomplete`
[[gnu::visibility("default")]] void* memalign(std::size_t alignment, std::size_t size) {
  if (alignment > std::size_t{1} << 63) return errno = EINVAL, nullptr;
  return alignment <= 16 ? allocate(size) : place(std::bit_ceil(alignment), size);
}

[[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment, std::size_t size) {
  if (!has(fault::takes_any_alignment) && !std::has_single_bit(alignment)) return errno = EINVAL, nullptr;
  return memalign(alignment, size);
}

[[gnu::visibility("default")]] int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  if (!has(fault::takes_any_alignment) && (!std::has_single_bit(alignment) || alignment < sizeof(void*))) {
    if constexpr (has(fault::says_by_errno)) errno = EINVAL;
    return EINVAL;
  }
  const int before = errno;
  void* const block = memalign(alignment, size);
  if constexpr (!has(fault::says_by_errno)) errno = before;
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}

[[gnu::visibility("default")]] void* valloc(std::size_t size) {
  return memalign(page, size);
}

[[gnu::visibility("default")]] void* pvalloc(std::size_t size) {
  if (size > PTRDIFF_MAX) return refuse();
  return memalign(page, (size + page - 1) & ~(page - 1));
}
#endif

}  // extern "C"
