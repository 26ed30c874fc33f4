// One thread of another process, stopped for a moment. The other threads of the process go on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ask/machine.h"

namespace heaplab::ask {

using moment = std::chrono::steady_clock::time_point;

enum class thread_state { running, stopped, halted, ended };  // halted: by a signal such as SIGSTOP

// Lets the thread go on when the object ends. If the asking program is killed, the kernel does that: the
// thread then goes on with the registers that were set last, each time all in one call.
class traced_thread {
public:
  // The thread in a stop of its own making: none if it ended, does not stop within some milliseconds, was
  // stopped by a signal, or belongs to another debugger. `refused` is then 0 or what the kernel says.
  static std::optional<traced_thread> stopped(pid_t process, pid_t thread, int& refused);

  // The thread, which goes on until it is interrupted: of several threads, all can stop at the same time.
  static std::optional<traced_thread> seized(pid_t process, pid_t thread, int& refused);
  bool interrupt();
  // Whether it has stopped by now. What was stopped begins its system call anew, whoever lives to see that.
  thread_state look();
  // False: as with `stopped`.
  bool wait_until_stopped(moment end);

  traced_thread(traced_thread&& other) noexcept;
  traced_thread& operator=(traced_thread&&) = delete;
  ~traced_thread();

  pid_t id() const { return thread_; }
  // Registers to go on with: a system call that the stop has interrupted begins anew.
  registers resumption() const;
  bool waits_for_lock() const { return call_.waits_for_lock; }
  // Whether a signal is about to be delivered.
  bool has_signal() const;
  // Whether the thread is inside a restartable sequence (Linux rseq).
  bool in_restartable_sequence() const;
  const registers& found() const { return found_; }

  std::vector<std::byte> vector_registers() const;
  bool set(const registers& wanted) const;
  bool set_vector_registers(const std::vector<std::byte>& wanted);
  // Writes also what the thread itself must not, such as code.
  bool write(std::uint64_t address, const void* from, std::size_t bytes) const;

private:
  traced_thread(pid_t process, pid_t thread) : process_(process), thread_(thread) {}
  bool take_registers();

  pid_t process_;
  pid_t thread_;
  before_stop noted_{};
  registers found_{};
  stopped_call call_{};
};

bool read_memory(pid_t process, std::uint64_t address, void* to, std::size_t bytes);

}  // namespace heaplab::ask
