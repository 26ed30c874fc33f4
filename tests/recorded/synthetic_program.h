// Programs made up for tests, as the events a recorder would have written, and what is true of them.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "recorded/compiler.h"
#include "recorded/workload_view.h"
#include "trace/raw/event.h"

namespace heaplab::testing {

using trace::event;
using trace::kind;

inline constexpr double ticks_per_second = 1e9;

// Writes down calls one after the other. Addresses are taken again at once, the last first.
class synthetic_program {
public:
  // The call site of the acquisitions that follow.
  void at_site(std::uint32_t site) { site_ = site; }

  std::uint64_t acquire(std::uint32_t thread, std::uint64_t size, kind how = kind::malloc,
                        std::uint8_t alignment_log2 = 0) {
    const std::uint64_t address = new_address();
    live_[address] = size;
    write({.address = address,
           .size = size,
           .thread = thread,
           .site = site_,
           .kind = how,
           .alignment_log2 = alignment_log2});
    return address;
  }

  void release(std::uint32_t thread, std::uint64_t address, kind how = kind::free,
               std::uint8_t alignment_log2 = 0) {
    write({.address = address, .thread = thread, .kind = how, .alignment_log2 = alignment_log2});
    forget(address);
  }

  std::uint64_t reallocate(std::uint32_t thread, std::uint64_t address, std::uint64_t size) {
    release(thread, address, kind::realloc_from);
    return acquire(thread, size, kind::realloc_to);
  }

  void create(std::uint32_t by, std::uint32_t made) {
    write({.address = made, .thread = by, .kind = kind::thread_create});
    write({.thread = made, .kind = kind::thread_begin});
  }
  void end(std::uint32_t thread) { write({.thread = thread, .kind = kind::thread_end}); }
  void join(std::uint32_t by, std::uint32_t ended) {
    write({.address = ended, .thread = by, .kind = kind::thread_join});
  }

  void write(event next) {
    next.stamp = clock_ += 100;
    events.push_back(next);
  }

  void wait(std::uint64_t ticks) { clock_ += ticks; }

  std::uint64_t live_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [address, size] : live_) sum += size;
    return sum;
  }

  std::vector<event> events;

private:
  std::uint64_t new_address() {
    if (free_.empty()) return next_ += 64;
    const std::uint64_t address = free_.back();
    free_.pop_back();
    return address;
  }
  void forget(std::uint64_t address) {
    live_.erase(address);
    free_.push_back(address);
  }

  std::map<std::uint64_t, std::uint64_t> live_;
  std::vector<std::uint64_t> free_;
  std::uint64_t next_ = 0x10000;
  std::uint64_t clock_ = 0;
  std::uint32_t site_ = 0;
};

// Threads that exchange blocks through a common table: most are freed or moved by another than allocated
// them.
inline synthetic_program swapping_program(std::uint32_t threads, std::size_t steps, std::uint32_t seed) {
  struct cell {
    std::uint64_t address = 0;
    bool made_by_new = false;
  };
  synthetic_program made;
  std::mt19937 random(seed);
  std::vector<cell> table(64);
  for (std::uint32_t thread = 2; thread <= threads; ++thread) made.create(1, thread);
  for (std::size_t step = 0; step < steps; ++step) {
    const auto thread = static_cast<std::uint32_t>(1 + random() % threads);
    const std::uint64_t size = random() % 100 == 0 ? 40'000 + random() % 9 : random() % 300;
    made.at_site(static_cast<std::uint32_t>(random() % 4));
    cell& chosen = table[random() % table.size()];
    if (chosen.address != 0 && !chosen.made_by_new && random() % 4 == 0) {
      chosen.address = made.reallocate(thread, chosen.address, size + 1);
      continue;
    }
    const cell old = chosen;
    chosen.made_by_new = random() % 2 == 0;
    chosen.address = made.acquire(thread, size, chosen.made_by_new ? kind::new_object : kind::malloc);
    if (old.address != 0)
      made.release(thread, old.address, old.made_by_new ? kind::delete_object : kind::free);
  }
  for (std::uint32_t thread = 2; thread <= threads; ++thread) {
    made.end(thread);
    made.join(1, thread);
  }
  return made;
}

// A path for this process alone, removed with the object.
class scratch_file {
public:
  explicit scratch_file(const std::string& name)
      : path("recorded_" + std::to_string(::getpid()) + "_" + name + ".workload") {}
  ~scratch_file() { ::unlink(path.c_str()); }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;

  const std::string path;
};

// A census after each `every` events, and one at the end; with 0 none.
struct censuses {
  std::uint64_t every = 0;
  std::unordered_set<std::uint32_t> apart = {};
};

// The workload file of a program.
struct compiled {
  explicit compiled(const synthetic_program& program, std::uint64_t lost = 0)
      : head(write(program, {}, lost)) {}
  compiled(const synthetic_program& program, censuses taken) : head(write(program, std::move(taken), 0)) {}

  const scratch_file file{"compiled"};
  const recorded::header head;
  const recorded::workload_view work{file.path};

private:
  recorded::header write(const synthetic_program& program, censuses taken, std::uint64_t lost) const {
    recorded::compiler compiler(file.path, 1, ticks_per_second, std::move(taken.apart));
    std::uint64_t events = 0;
    for (const event& next : program.events) {
      compiler.add(next);
      if (taken.every != 0 && ++events % taken.every == 0)
        compiler.list_survivors(recorded::occasion::sample);
    }
    if (taken.every != 0) compiler.list_survivors(recorded::occasion::end);
    return compiler.finish(lost);
  }
};

}  // namespace heaplab::testing
