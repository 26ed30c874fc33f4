#include "ask/unwound_stack.h"

#include <libunwind-ptrace.h>

#include <algorithm>

namespace heaplab::ask {

namespace {

constexpr int deepest = 512;  // frames; a deeper stack counts as unknown

class unwinder {
public:
  explicit unwinder(pid_t thread)
      : space_(unw_create_addr_space(&_UPT_accessors, 0)), of_thread_(_UPT_create(thread)) {}
  unwinder(const unwinder&) = delete;
  unwinder& operator=(const unwinder&) = delete;
  ~unwinder() {
    _UPT_destroy(of_thread_);
    unw_destroy_addr_space(space_);
  }

  bool begin(unw_cursor_t& cursor) const { return unw_init_remote(&cursor, space_, of_thread_) == 0; }

private:
  unw_addr_space_t space_;
  void* of_thread_;
};

}  // namespace

stack_verdict examine_stack(pid_t thread, std::span<const address_range> unsafe) {
  const unwinder stack(thread);
  unw_cursor_t cursor;
  if (!stack.begin(cursor)) return stack_verdict::unknown;
  for (int depth = 0; depth < deepest; ++depth) {
    unw_word_t address = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0) return stack_verdict::unknown;
    if (address == 0) return stack_verdict::safe;
    if (unw_is_signal_frame(&cursor) > 0) return stack_verdict::in_signal_handler;
    // A return address may be that of the next function.
    const unw_word_t inside = depth == 0 ? address : address - 1;
    const auto holds = [inside](address_range range) { return inside >= range.begin && inside < range.end; };
    if (std::ranges::any_of(unsafe, holds)) return stack_verdict::in_range;
    const int more = unw_step(&cursor);
    if (more == 0) return stack_verdict::safe;
    if (more < 0) return stack_verdict::unknown;
  }
  return stack_verdict::unknown;
}

}  // namespace heaplab::ask
