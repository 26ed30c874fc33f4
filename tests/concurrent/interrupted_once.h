// A signal at each instruction of a piece of code, once: not by single steps, each of which is a signal and
// would abort a restartable sequence at its first instruction. On x86-64.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

namespace heaplab::concurrent {

class interrupted_once {
public:
  // The addresses of the instructions that work() runs between two addresses.
  template <class Work>
  static std::vector<std::uintptr_t> instructions_of(std::uintptr_t begin, std::uintptr_t end, Work work) {
    const trap_handler handler;
    seen_.clear();
    steps_ = true;
    raise(SIGTRAP);
    work();
    steps_ = false;
    raise(SIGTRAP);
    std::vector<std::uintptr_t> result;
    for (const std::uintptr_t instruction : seen_)
      if (begin <= instruction && instruction < end) result.push_back(instruction);
    return result;
  }

  // Calls work(), and interruption() in a signal handler before the instruction at `address` has run.
  // Returns whether work() came there.
  static bool at(std::uintptr_t address, const std::function<void()>& interruption,
                 const std::function<void()>& work) {
    const trap_handler handler;
    interruption_ = &interruption;
    breakpoint_ = address;
    const auto original = replace(address, int3);
    original_ = original;
    work();
    const bool came = breakpoint_ == 0;
    if (!came) replace(address, original), breakpoint_ = 0;
    return came;
  }

private:
  static constexpr greg_t trap_flag = 0x100;
  static constexpr std::uint8_t int3 = 0xcc;

  class trap_handler {
  public:
    trap_handler() {
      struct sigaction action = {};
      action.sa_sigaction = [](int, siginfo_t*, void* context) { trap(*static_cast<ucontext_t*>(context)); };
      action.sa_flags = SA_SIGINFO;
      sigaction(SIGTRAP, &action, &before_);
    }
    ~trap_handler() { sigaction(SIGTRAP, &before_, nullptr); }

  private:
    struct sigaction before_ = {};
  };

  // Returns what was there.
  static std::uint8_t replace(std::uintptr_t address, std::uint8_t byte) {
    const std::uintptr_t page = address & ~(static_cast<std::uintptr_t>(getpagesize()) - 1);
    if (mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
      throw std::runtime_error("code is not writable here");
    auto* const place = reinterpret_cast<volatile std::uint8_t*>(address);
    const std::uint8_t before = *place;
    *place = byte;
    mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_EXEC);
    return before;
  }

  static void trap(ucontext_t& context) {
    auto& registers = context.uc_mcontext.gregs;
    if (breakpoint_ == 0) {
      registers[REG_EFL] = steps_ ? registers[REG_EFL] | trap_flag : registers[REG_EFL] & ~trap_flag;
      if (steps_) seen_.push_back(static_cast<std::uintptr_t>(registers[REG_RIP]));
      return;
    }
    replace(breakpoint_, original_);
    // Elsewhere already if the kernel has aborted a sequence.
    if (static_cast<std::uintptr_t>(registers[REG_RIP]) == breakpoint_ + 1) registers[REG_RIP] -= 1;
    breakpoint_ = 0;
    (*interruption_)();
  }

  static inline std::vector<std::uintptr_t> seen_;
  static inline bool steps_ = false;
  static inline std::uintptr_t breakpoint_ = 0;
  static inline std::uint8_t original_ = 0;
  static inline const std::function<void()>* interruption_ = nullptr;
};

}  // namespace heaplab::concurrent
