#include "recorder/redirected_call.h"

#include <cstring>
#include <limits>

#include "recorder/recording.h"

#ifdef __x86_64__
// The compiler may know which registers a function of its own file leaves alone (gcc's -fipa-ra), so all are
// saved that a function may use, but the one with the result.
//
// On entry: rbp = the caller's frame pointer and the return address, as if this were a function with a frame
// pointer; below it the r11 of the caller, and r11 = the entry.
asm(R"(
  .text
  .balign 16
  .hidden heaplab_enter_redirected
  .globl heaplab_enter_redirected
  .type heaplab_enter_redirected, @function
heaplab_enter_redirected:
  .cfi_startproc
  .cfi_def_cfa rbp, 16
  .cfi_offset rbp, -16
  push %rcx
  push %rdx
  push %rsi
  push %rdi
  push %r8
  push %r9
  push %r10
  mov %rsp, %rdi
  mov %r11, %rsi
  sub $256, %rsp
  and $-16, %rsp  # within its own file a function may be called with any stack
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  movaps %xmm\n, 16*\n(%rsp)
  .endr
  call heaplab_serve_redirected
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  movaps 16*\n(%rsp), %xmm\n
  .endr
  lea -64(%rbp), %rsp
  pop %r10
  pop %r9
  pop %r8
  pop %rdi
  pop %rsi
  pop %rdx
  pop %rcx
  pop %r11
  pop %rbp
  .cfi_def_cfa rsp, 8
  ret
  .cfi_endproc
  .size heaplab_enter_redirected, . - heaplab_enter_redirected
)");

namespace heaplab::recorder {
namespace {

using trace::kind;

extern "C" const std::uint8_t heaplab_enter_redirected[];

// What the code above has saved.
enum saved_register : std::uint8_t { r10, r9, r8, rdi, rsi, rdx, rcx, r11, frame, return_address };
using saved_registers = const std::uint64_t;

constexpr saved_register argument_registers[] = {rdi, rsi, rdx, rcx, r8, r9};

using any_function = std::uint64_t (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                       std::uint64_t, std::uint64_t);

constexpr std::size_t malloc_alignment = 16;

// A call of a redirected function.
class redirected_call {
public:
  redirected_call(saved_registers* in, const redirected_entry& of) : in_(in), of_(of) {}

  HEAPLAB_FAST_PATH std::uint64_t serve() const {
    if (this_thread.doing != activity::none) return call();
    switch (of_.function.act) {
      case act::release:
        release(recorded_kind(), block(), size_if_told(), 0, site().caller, [this] { call_within(); });
        return 0;
      case act::resize:
        if (block() != nullptr) {
          const auto grown = static_cast<kind>(of_.function.grown_kind);
          return number_of(
              reallocate(recorded_kind(), grown, block(), size(), site(), [this] { return called(); }));
        }
        [[fallthrough]];
      case act::acquire:
        break;
    }
    return of_.function.stores_result ? acquire_stored() : acquire_returned();
  }

private:
  HEAPLAB_FAST_PATH std::uint64_t call() const {
    const auto function = reinterpret_cast<any_function>(reinterpret_cast<std::uintptr_t>(of_.call));
    return function(in_[rdi], in_[rsi], in_[rdx], in_[rcx], in_[r8], in_[r9]);
  }

  // Calls that the function makes itself are no calls of the program, and not lost.
  HEAPLAB_FAST_PATH std::uint64_t call_within() const {
    const doing served(this_thread, activity::served);
    return call();
  }

  HEAPLAB_FAST_PATH void* called() const { return reinterpret_cast<void*>(call_within()); }

  HEAPLAB_FAST_PATH std::uint64_t acquire_returned() const {
    return number_of(
        acquire(acquired_kind(), size(), log2_of(alignment()), site(), [this] { return called(); }));
  }

  std::uint64_t acquire_stored() const {
    std::uint64_t error = 0;
    acquire(acquired_kind(), size(), log2_of(alignment()), site(), [&]() -> void* {
      error = call_within();
      return static_cast<int>(error) == 0 ? *reinterpret_cast<void**>(in_[rdi]) : nullptr;
    });
    return error;
  }

  call_site site() const { return {in_[return_address], in_ + frame}; }
  kind recorded_kind() const { return static_cast<kind>(of_.function.kind); }

  kind acquired_kind() const {
    if (alignment() > malloc_alignment) return recorded_kind();
    constexpr std::uint64_t zeroed = 0x40;
    const bool wants_zeros =
        of_.function.flags != no_argument && (argument(of_.function.flags) & zeroed) != 0;
    return wants_zeros ? kind::calloc : static_cast<kind>(of_.function.small_kind);
  }

  std::uint64_t argument(std::uint8_t number) const { return in_[argument_registers[number]]; }

  void* block() const { return reinterpret_cast<void*>(argument(of_.function.block)); }

  std::size_t size() const {
    std::size_t bytes = argument(of_.function.size);
    if (of_.function.count != no_argument &&
        __builtin_mul_overflow(bytes, argument(of_.function.count), &bytes))
      return SIZE_MAX;
    return bytes;
  }

  std::size_t size_if_told() const { return of_.function.size == no_argument ? 0 : size(); }

  // 0: none, or one that the function refuses or rounds.
  std::size_t alignment() const {
    constexpr std::uint64_t log2_of_flags = 0x3F;
    if (of_.function.flags != no_argument)
      return (std::size_t{1} << (argument(of_.function.flags) & log2_of_flags)) & ~std::size_t{1};
    if (of_.function.alignment == no_argument) return 0;
    const std::size_t told = argument(of_.function.alignment);
    return is_power_of_two(told) ? told : 0;
  }

  saved_registers* in_;
  const redirected_entry& of_;
};

extern "C" [[gnu::used, gnu::visibility("hidden")]] std::uint64_t heaplab_serve_redirected(
    saved_registers* in, const redirected_entry& of) {
  return redirected_call(in, of).serve();
}

template <class Value>
std::uint8_t* put(std::uint8_t* to, const Value& value) {
  std::memcpy(to, &value, sizeof value);
  return to + sizeof value;
}

}  // namespace

bool write_code(redirected_entry& entry, std::uint64_t function) {
  constexpr std::uint8_t keep_frame[] = {0x55, 0x48, 0x89,
                                         0xE5, 0x41, 0x53};  // push rbp; mov rsp, rbp; push r11
  constexpr std::uint8_t load_entry[] = {0x49, 0xBB};        // mov $entry, r11
  constexpr std::uint8_t jump[] = {0xFF, 0x25, 0, 0, 0, 0};  // to what follows
  std::uint8_t* to = put(put(entry.enter, keep_frame), load_entry);
  to = put(to, reinterpret_cast<std::uint64_t>(&entry));
  put(put(to, jump), reinterpret_cast<std::uint64_t>(&heaplab_enter_redirected));

  std::memcpy(entry.call, entry.function.code, entry.function.code_bytes);
  const auto distance = static_cast<std::int64_t>(function - reinterpret_cast<std::uint64_t>(entry.call));
  for (unsigned number = 0; number < entry.function.displacements; ++number) {
    std::uint8_t* const at = entry.call + entry.function.displacement[number];
    std::int32_t value;
    std::memcpy(&value, at, sizeof value);
    if (__builtin_add_overflow(value, distance, &value)) return false;
    put(at, value);
  }
  return true;
}

}  // namespace heaplab::recorder
#endif
