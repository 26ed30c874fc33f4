#include "recorder/stacks.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/errno_keeper.h"
#include "recorder/loaded_code.h"
#include "recorder/process_file.h"
#include "recorder/proven_table.h"
#include "recorder/stack_bounds.h"
#include "recorder/system_call_filters.h"

namespace heaplab::recorder {

namespace {

// Stacks that are in the file already: the site by a hash of the addresses.
constinit proven_table<std::size_t{1} << 14> known{};

// Code addresses, the innermost first.
struct call_stack {
  std::uint64_t addresses[trace::most_frames];
  std::size_t count = 0;

  void add(std::uint64_t address) { addresses[count++] = address; }
  bool is_full() const { return count == trace::most_frames; }
};

// What a function of the stack had in its registers when the next inner one returns to it.
struct frame {
  std::uint64_t code;
  std::uint64_t stack_pointer;
  std::uint64_t frame_pointer;  // in the register, or its place on the stack
  bool frame_pointer_is_stored;
  bool frame_pointer_is_known;
};

// A walk, and what it depended on: the caller, the stack pointer, perhaps the frame pointer, and the words
// that were read from the stack.
struct entry {
  static constexpr std::size_t most_words = 2 * trace::most_frames;

  std::uint64_t caller;
  std::uint64_t stack_pointer;
  std::uint64_t frame_pointer;
  std::uint64_t site;
  std::uint32_t times_unloaded;
  std::uint16_t count;
  bool needs_frame_pointer;
  std::uint64_t digest;               // of the words
  std::uint32_t offsets[most_words];  // of the words, from the stack pointer
};

// A digest of words read from the stack: the sum of their products with pseudorandom odd factors. Different
// words collide with a probability of about 2^-63, and no product depends on another.
constexpr auto factors = [] {
  std::array<std::uint64_t, entry::most_words> found{};
  std::uint64_t last = 0;
  for (std::uint64_t& factor : found) factor = (last = mix(last, last + 1)) | 1;
  return found;
}();

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
  static constexpr std::size_t entries = 1024;

  stack_bounds bounds;
  entry all[entries];
};

namespace {

std::uint64_t word_at(std::uint64_t address) {
  return *reinterpret_cast<const std::uint64_t*>(address);
}

// Precondition: the stack pointer is that of the entry.
bool holds_still(const entry& of) {
  std::uint64_t digest = 0;
  for (std::size_t place = 0; place < of.count; ++place)
    digest += word_at(of.stack_pointer + of.offsets[place]) * factors[place];
  return digest == of.digest;
}

// Walks from the innermost function outwards. Every step goes up the stack, and reads words within its bounds
// alone.
class walk {
public:
  walk(stack_bounds& bounds, entry& of) : bounds_(bounds), entry_(of) {
    of.count = 0;
    of.digest = 0;
    of.needs_frame_pointer = false;
    frame_ = {of.caller, of.stack_pointer, of.frame_pointer, false, true};
    stack_.add(of.caller);
    // A return address may be that of the next function: the call was the last instruction.
    while (!stack_.is_full() && go_on(row_at(frame_.code - 1))) stack_.add(frame_.code);
  }

  const call_stack& found() const { return stack_; }

private:
  static constexpr std::uint64_t word = sizeof(std::uint64_t);

  bool go_on(const unwind_row& row) {
    std::uint64_t pointer;
    switch (row.rule) {
      case unwind_row::cfa::outermost:
        return false;
      case unwind_row::cfa::stack_pointer:
        return go_to(frame_.stack_pointer + offset_of(row), row);
      case unwind_row::cfa::frame_pointer:
        return frame_pointer(pointer) && go_to(pointer + offset_of(row), row);
      case unwind_row::cfa::at_frame_pointer: {
        std::uint64_t cfa;
        return frame_pointer(pointer) && read(pointer + offset_of(row), cfa) && go_to(cfa, row, pointer);
      }
      case unwind_row::cfa::signal:
        return go_to_interrupted();
      case unwind_row::cfa::unknown:
        return go_by_frame_pointer();
    }
    return false;
  }

  static std::uint64_t offset_of(const unwind_row& row) {
    return static_cast<std::uint64_t>(std::int64_t{row.offset});
  }

  // The frame pointer leads to that of the caller, and behind it to the return address: the convention of
  // code that has frame pointers, on x86-64 as on AArch64.
  bool go_by_frame_pointer() {
    std::uint64_t pointer;
    return frame_pointer(pointer) &&
           go_to(pointer + 2 * word, {.saved_frame_pointer = -2 * static_cast<std::int16_t>(word)});
  }

  bool go_to(std::uint64_t cfa, const unwind_row& row) { return go_to(cfa, row, cfa); }

  // The caller's frame pointer is saved relative to `base`.
  bool go_to(std::uint64_t cfa, const unwind_row& row, std::uint64_t base) {
    if (cfa <= frame_.stack_pointer || !read(cfa - word, frame_.code)) return false;
    frame_.stack_pointer = cfa;
    if (row.saved_frame_pointer == unwind_row::overwritten)
      frame_.frame_pointer_is_known = false;
    else if (row.saved_frame_pointer != unwind_row::not_saved)
      store_frame_pointer(base + static_cast<std::uint64_t>(std::int64_t{row.saved_frame_pointer}));
    return frame_.code != 0;
  }

  // What a signal interrupted did not call: it stood at an instruction, not behind it.
  bool go_to_interrupted() {
#if defined(__x86_64__)
    const std::uint64_t context = frame_.stack_pointer;
    const auto place_of = [=](int number) {
      return context + offsetof(ucontext_t, uc_mcontext.gregs) + word * static_cast<std::uint64_t>(number);
    };
    std::uint64_t pointer;
    if (!read(place_of(REG_RSP), pointer) || pointer <= frame_.stack_pointer) return false;
    if (!read(place_of(REG_RIP), frame_.code)) return false;
    ++frame_.code;
    frame_.stack_pointer = pointer;
    store_frame_pointer(place_of(REG_RBP));
    return true;
#else
    return false;
#endif
  }

  void store_frame_pointer(std::uint64_t at) {
    frame_.frame_pointer = at;
    frame_.frame_pointer_is_stored = true;
    frame_.frame_pointer_is_known = true;
  }

  bool frame_pointer(std::uint64_t& value) {
    if (!frame_.frame_pointer_is_known) return false;
    if (frame_.frame_pointer_is_stored && !read(frame_.frame_pointer, frame_.frame_pointer)) return false;
    if (!frame_.frame_pointer_is_stored && !was_stored_) entry_.needs_frame_pointer = true;
    was_stored_ = was_stored_ || frame_.frame_pointer_is_stored;
    frame_.frame_pointer_is_stored = false;
    value = frame_.frame_pointer;
    return true;
  }

  // Reads a word of the stack and keeps it in the entry.
  bool read(std::uint64_t at, std::uint64_t& value) {
    const std::uint64_t offset = at - entry_.stack_pointer;
    if (entry_.count == entry::most_words || at % word != 0 || offset > UINT32_MAX || !bounds_.hold(at, word))
      return false;
    value = word_at(at);
    entry_.digest += value * factors[entry_.count];
    entry_.offsets[entry_.count++] = static_cast<std::uint32_t>(offset);
    return true;
  }

  stack_bounds& bounds_;
  entry& entry_;
  frame frame_;
  bool was_stored_ = false;  // whether the frame pointer came from the stack, not from the register
  call_stack stack_;
};

// Precondition: `within` is in the present stack.
HEAPLAB_SLOW_PATH bool make_cache(thread_state& state, std::uint64_t within) {
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
  state.stacks->bounds.find(within);
  return state.stacks->bounds.are_known();
}

std::uint64_t site_of(thread_state& state, const call_stack& stack) {
  const std::span addresses(stack.addresses, stack.count);
  std::uint64_t hash = 0;
  for (const std::uint64_t address : addresses) hash = mix(hash, address);
  if (const std::uint64_t site = known.find(hash)) return site;
  const std::uint64_t site = write_stack(state, addresses);
  if (site != 0) known.put(hash, site);
  return site;
}

}  // namespace

bool prepare_stacks() {
  prepare_loaded_code();
  return ::madvise(&known, sizeof known, MADV_WIPEONFORK) == 0;
}

std::uint64_t stack_of(thread_state& state, const call_site& site) {
  const auto present = reinterpret_cast<std::uint64_t>(site.frame);
  const bool has_bounds = state.stacks != nullptr && state.stacks->bounds.are_known();
  if (state.exited || (!has_bounds && !make_cache(state, present))) return site.caller;
  const std::uint64_t stack_pointer = present + 2 * sizeof(std::uint64_t);
  const std::uint64_t frame_pointer = site.frame[0];
  const std::uint32_t unloaded = times_unloaded.load(std::memory_order_acquire);
  entry& found = state.stacks->all[mix(site.caller, stack_pointer) % stack_cache::entries];
  const bool is_same = found.caller == site.caller && found.stack_pointer == stack_pointer &&
                       found.times_unloaded == unloaded &&
                       (!found.needs_frame_pointer || found.frame_pointer == frame_pointer);
  if (is_same && holds_still(found)) return found.site;
  if (!state.stacks->bounds.hold(present, 2 * sizeof(std::uint64_t))) return site.caller;
  found.caller = site.caller;
  found.stack_pointer = stack_pointer;
  found.frame_pointer = frame_pointer;
  found.times_unloaded = unloaded;
  const walk walked(state.stacks->bounds, found);
  found.site = site_of(state, walked.found());
  if (found.site != 0) return found.site;
  found.caller = 0;
  return site.caller;
}

std::size_t walk_stack(stack_bounds& bounds, const call_site& site,
                       std::uint64_t (&addresses)[trace::most_frames]) {
  const auto present = reinterpret_cast<std::uint64_t>(site.frame);
  if (!bounds.are_known() && may_call_system()) bounds.find(present);
  addresses[0] = site.caller;
  if (!bounds.are_known() || !bounds.hold(present, 2 * sizeof(std::uint64_t))) return 1;
  entry walked_from{};
  walked_from.caller = site.caller;
  walked_from.stack_pointer = present + 2 * sizeof(std::uint64_t);
  walked_from.frame_pointer = site.frame[0];
  const walk walked(bounds, walked_from);
  std::ranges::copy(std::span(walked.found().addresses, walked.found().count), addresses);
  return walked.found().count;
}

void drop_stacks(thread_state& state) {
  if (state.stacks != nullptr) ::munmap(state.stacks, sizeof(stack_cache));
  state.stacks = nullptr;
}

}  // namespace heaplab::recorder
