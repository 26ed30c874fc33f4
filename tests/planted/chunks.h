// A plain malloc, to plant faults in (fault.h): chunks of powers of two in lists of free ones, larger chunks
// with a mapping of their own, all under one lock.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "fault.h"

namespace planted {

inline constexpr fault present = fault::HEAPLAB_FAULT;

consteval bool has(fault wanted) {
  return present == wanted;
}

// The fault strikes at every 20th call of a thread that could go wrong, or as often as said.
inline bool strikes(unsigned period = 20) {
  static constinit thread_local unsigned calls = 0;
  return ++calls % period == 0;
}

// The start of a piece of memory, in use or free.
struct chunk {
  std::size_t bytes;  // with this, a power of two up to the largest class, else whole pages
  union {
    chunk* next;        // in a list of free chunks
    std::size_t forks;  // in use: those that had led to the process that asked
  };
  std::size_t asked;  // bytes, with this, that were last asked for
  pthread_t owner;    // who asked for them
};

// Stands before every block, wherever its alignment put it in its chunk.
struct header {
  chunk* origin;
  std::size_t usable;
};

inline constexpr std::size_t overhead = sizeof(chunk) + sizeof(header);
inline constexpr std::size_t largest_class = std::size_t{128} << 10, slab = std::size_t{1} << 20, page = 4096;

class lock {
public:
  lock() : held_(!has(fault::unlocked_beside_parent) || getpid() == process_) {
    if (held_) take();
  }
  ~lock() {
    if (held_) release();
  }
  lock(const lock&) = delete;
  lock& operator=(const lock&) = delete;

  static void take() { pthread_mutex_lock(&mutex_); }
  static void release() { pthread_mutex_unlock(&mutex_); }
  static void begin_process() { process_ = getpid(); }

private:
  static constinit inline pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  static constinit inline pid_t process_ = 0;
  bool held_;
};

struct no_lock {};

// Of the fault huge_locked_in_child: held while a huge block is mapped and unmapped.
class huge_lock {
public:
  explicit huge_lock(std::size_t bytes) : held_(has(fault::huge_locked_in_child) && bytes >= 5 * slab / 2) {
    if (held_) pthread_mutex_lock(&mutex_);
  }
  ~huge_lock() {
    if (held_) pthread_mutex_unlock(&mutex_);
  }
  huge_lock(const huge_lock&) = delete;
  huge_lock& operator=(const huge_lock&) = delete;

private:
  static constinit inline pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  bool held_;
};

class chunks {
public:
  // Null: the system refuses.
  static chunk* take(std::size_t bytes) {
    if (has(fault::sulks) && refused_once_) return nullptr;
    if (bytes > largest_class) {
      huge_lock held(bytes);
      return map((bytes + page - 1) & ~(page - 1));
    }
    const std::size_t size = std::bit_ceil(bytes < 64 ? 64 : bytes);
    [[maybe_unused]] guard held;
    chunk*& list = free_[list_of(size, bytes)];
    chunk* const first = list;
    if (first == nullptr) return cut(size);
    if constexpr (has(fault::unlocked) || has(fault::locked_in_child) || has(fault::unlocked_beside_parent))
      sched_yield();
    list = first->next;
    return first;
  }

  static void give(chunk* freed) {
    if (freed->bytes > largest_class) {
      if constexpr (has(fault::hoards)) return;
      huge_lock held(freed->bytes);
      munmap(freed, freed->bytes);
      return;
    }
    [[maybe_unused]] guard held;
    chunk*& list = free_[list_of(freed->bytes, freed->asked)];
    freed->next = list;
    list = freed;
  }

  static void forget_all() {
    for (chunk*& list : free_) list = nullptr;
    fresh_ = fresh_begin_;
  }

private:
  using guard = std::conditional_t<has(fault::unlocked), no_lock, lock>;

  static std::size_t list_of(std::size_t size, std::size_t bytes) {
    if constexpr (has(fault::exact_fit)) return bytes % lists;
    return static_cast<std::size_t>(std::countr_zero(size));
  }

  static chunk* map(std::size_t bytes) {
    static constinit unsigned maps = 0;
    ++maps;
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      if constexpr (has(fault::aborts_without_memory)) __builtin_trap();
      if (has(fault::aborts_once) && maps == 101) __builtin_trap();
      refused_once_ = true;
      return nullptr;
    }
    return new (memory) chunk{bytes, {nullptr}, bytes, {}};
  }

  static chunk* cut(std::size_t size) {
    if (fresh_ + size > fresh_end_) {
      chunk* const more = map(slab);
      if (more == nullptr) return nullptr;
      fresh_ = fresh_begin_ = reinterpret_cast<char*>(more);
      fresh_end_ = fresh_ + slab;
    }
    chunk* const result = new (fresh_) chunk{size, {nullptr}, size, {}};
    fresh_ += size;
    return result;
  }

  static constexpr std::size_t lists = has(fault::exact_fit) ? 2 * largest_class : 64;
  static constinit inline bool refused_once_ = false;
  static constinit inline chunk* free_[lists] = {};
  static constinit inline char *fresh_begin_ = nullptr, *fresh_ = nullptr, *fresh_end_ = nullptr;
};

}  // namespace planted
