#include "recorder/redirected_call.h"

#include <cstring>
#include <limits>

#include "recorder/recording.h"
#if defined(__x86_64__)
#include "recorder/entering_x86_64.h"
#elif defined(__aarch64__)
#include "recorder/entering_aarch64.h"
#endif

namespace heaplab::recorder {
namespace {

using trace::kind;

using any_function = std::uint64_t (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                       std::uint64_t, std::uint64_t);

constexpr std::size_t malloc_alignment = 16;

// A call of a redirected function.
class redirected_call {
public:
  redirected_call(const saved_registers& in, const redirected_entry& of) : in_(in), of_(of) {}

  HEAPLAB_FAST_PATH std::uint64_t serve() const {
    if (this_thread.doing != activity::none) return call();
    switch (of_.function.act) {
      case act::release:
        return release_block();
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
    return function(argument(0), argument(1), argument(2), argument(3), argument(4), argument(5));
  }

  // Calls that the function makes itself are no calls of the program, and not lost.
  HEAPLAB_FAST_PATH std::uint64_t call_within() const {
    const doing served(this_thread, activity::served);
    return call();
  }

  HEAPLAB_FAST_PATH void* called() const { return reinterpret_cast<void*>(call_within()); }

  // What the function leaves in the register of a result, where its caller may know an argument to be
  // (-fipa-ra).
  HEAPLAB_FAST_PATH std::uint64_t release_block() const {
    std::uint64_t left = 0;
    release(recorded_kind(), block(), size_if_told(), 0, site().caller, [&] { left = call_within(); });
    return left;
  }

  HEAPLAB_FAST_PATH std::uint64_t acquire_returned() const {
    return number_of(
        acquire(acquired_kind(), size(), log2_of(alignment()), site(), [this] { return called(); }));
  }

  std::uint64_t acquire_stored() const {
    std::uint64_t error = 0;
    acquire(acquired_kind(), size(), log2_of(alignment()), site(), [&]() -> void* {
      error = call_within();
      return static_cast<int>(error) == 0 ? *reinterpret_cast<void**>(argument(0)) : nullptr;
    });
    return error;
  }

  call_site site() const { return {in_.frame()[1], in_.frame()}; }
  kind recorded_kind() const { return static_cast<kind>(of_.function.kind); }

  kind acquired_kind() const {
    if (alignment() > malloc_alignment) return recorded_kind();
    constexpr std::uint64_t zeroed = 0x40;
    const bool wants_zeros =
        of_.function.flags != no_argument && (argument(of_.function.flags) & zeroed) != 0;
    return wants_zeros ? kind::calloc : static_cast<kind>(of_.function.small_kind);
  }

  std::uint64_t argument(std::uint8_t number) const { return in_.argument(number); }

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

  const saved_registers& in_;
  const redirected_entry& of_;
};

extern "C" [[gnu::used, gnu::visibility("hidden")]] std::uint64_t heaplab_serve_redirected(
    const saved_registers& in, const redirected_entry& of) {
  return redirected_call(in, of).serve();
}

}  // namespace

bool write_code(redirected_entry& entry) {
  write_enter(entry);
  std::memcpy(entry.call, entry.function.code, entry.function.code_bytes);
  for (unsigned number = 0; number < entry.function.displacements; ++number) {
    const std::uint8_t offset = entry.function.displacement[number];
    if (!adapt(entry.call + offset, entry.function.address + offset)) return false;
  }
  publish(&entry, sizeof entry);
  return true;
}

}  // namespace heaplab::recorder
