#include "recorder/stacks.h"

#include <sys/mman.h>

#include <span>

#include "base/atomic.h"
#include "base/errno_keeper.h"
#include "recorder/process_file.h"
#include "recorder/stack_bounds.h"
#include "recorder/system_call_filters.h"

namespace heaplab::recorder {

namespace {

constexpr std::size_t most_links = trace::most_frames - 1;

// What lies at a frame: the caller's frame pointer, and the address to which the frame's function returns.
struct link {
  std::uint64_t frame;
  std::uint64_t returns_to;
};

struct entry {
  std::uint64_t caller;
  std::uint64_t frame;
  std::uint64_t site;
  std::uint64_t count;  // of links
  link links[most_links];
};

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
  return hash ^ hash >> 29;
}

// Stacks that are in the file already, by their hash: a table without order, in which a stack may push out
// another. The first word is the hash combined with the second by exclusive or: words of two writers do not
// fit together.
struct alignas(4096) known_stacks {
  static constexpr std::size_t places = std::size_t{1} << 14;
  struct place {
    atomic<std::uint64_t> mixed;
    atomic<std::uint64_t> site;
  };

  // relaxed: the words prove each other, and the stack in the file is read after the recording.
  std::uint64_t find(std::uint64_t hash) const {
    const place& at = all[hash % places];
    const std::uint64_t site = at.site.load(std::memory_order_relaxed);
    return site != 0 && (at.mixed.load(std::memory_order_relaxed) ^ site) == hash ? site : 0;
  }
  void put(std::uint64_t hash, std::uint64_t site) {
    all[hash % places].mixed.store(hash ^ site, std::memory_order_relaxed);
    all[hash % places].site.store(site, std::memory_order_relaxed);
  }

  place all[places];
};
constinit known_stacks known{};

// Writes the stack into the file, three addresses a record; 0 if there is no room.
std::uint64_t write_stack(thread_state& state, std::span<const std::uint64_t> addresses) {
  const auto count = static_cast<unsigned>((addresses.size() + 2) / 3);
  trace::raw_record* const first = claim_stack(state, count);
  if (first == nullptr) return 0;
  const auto at = [&](std::size_t place) { return place < addresses.size() ? addresses[place] : 0; };
  for (std::size_t place = 0; place < count; ++place)
    first[place] = {at(3 * place), trace::pack(addresses.size(), trace::stack_part, 0), at(3 * place + 1),
                    at(3 * place + 2)};
  return trace::stack_site(
      state.chunk->offset +
      sizeof *first * static_cast<std::uint64_t>(first - reinterpret_cast<trace::raw_record*>(state.chunk)));
}

}  // namespace

// The cache of a thread. All zero in a child of fork.
struct stack_cache {
  static constexpr std::size_t entries = 512;

  stack_bounds bounds;
  entry all[entries];

  // A frame above `below`, within this stack.
  bool holds(std::uint64_t frame, std::uint64_t below) {
    return frame % sizeof(frame) == 0 && frame > below && bounds.hold(frame, sizeof(link));
  }

  static const link& at(std::uint64_t frame) { return *reinterpret_cast<const link*>(frame); }

  static bool holds_still(const entry& of) {
    std::uint64_t frame = of.frame;
    bool same = true;
    for (const link& one : std::span(of.links, of.count)) {
      same = same && at(frame).frame == one.frame && at(frame).returns_to == one.returns_to;
      frame = one.frame;
    }
    return same;
  }

  void walk(entry& of) {
    of.count = 0;
    for (std::uint64_t frame = of.frame, below = frame - 1; of.count < most_links && holds(frame, below);) {
      of.links[of.count++] = at(frame);
      below = frame;
      frame = at(frame).frame;
    }
  }
};

namespace {

// Precondition: `frame` is within the present stack.
bool make_cache(thread_state& state, std::uint64_t frame) {
  if (!may_call_system()) return false;
  const errno_keeper keep;
  const doing own(state, activity::own);
  if (state.stacks == nullptr) {
    void* const at = ::mmap(nullptr, sizeof(stack_cache), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return false;
    ::madvise(at, sizeof(stack_cache), MADV_WIPEONFORK);
    state.stacks = static_cast<stack_cache*>(at);
  }
  state.stacks->bounds.find(frame);
  return state.stacks->bounds.are_known();
}

std::uint64_t site_of(thread_state& state, const entry& of) {
  std::uint64_t addresses[trace::most_frames] = {of.caller};
  std::size_t count = 1;
  std::uint64_t hash = mix(0, of.caller);
  for (const link& one : std::span(of.links, of.count)) {
    if (one.returns_to == 0) break;
    addresses[count++] = one.returns_to;
    hash = mix(hash, one.returns_to);
  }
  if (const std::uint64_t site = known.find(hash)) return site;
  const std::uint64_t site = write_stack(state, std::span(addresses, count));
  if (site != 0) known.put(hash, site);
  return site;
}

}  // namespace

bool prepare_stacks() {
  return ::madvise(&known, sizeof known, MADV_WIPEONFORK) == 0;
}

std::uint64_t stack_of(thread_state& state, const call_site& site) {
  const auto present = reinterpret_cast<std::uint64_t>(site.frame);
  const bool has_bounds = state.stacks != nullptr && state.stacks->bounds.are_known();
  if (state.exited || (!has_bounds && !make_cache(state, present))) return site.caller;
  const std::uint64_t frame = site.frame[0];
  if (!state.stacks->bounds.hold(present, sizeof(link)) || !state.stacks->holds(frame, present))
    return site.caller;
  entry& found = state.stacks->all[mix(site.caller, frame) % stack_cache::entries];
  if (found.caller == site.caller && found.frame == frame && stack_cache::holds_still(found))
    return found.site;
  found.caller = site.caller;
  found.frame = frame;
  state.stacks->walk(found);
  found.site = site_of(state, found);
  if (found.site != 0) return found.site;
  found.caller = 0;
  return site.caller;
}

void drop_stacks(thread_state& state) {
  if (state.stacks != nullptr) ::munmap(state.stacks, sizeof(stack_cache));
  state.stacks = nullptr;
}

}  // namespace heaplab::recorder
