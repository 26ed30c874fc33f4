#include "ask/traced_thread.h"

#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "ask/thread_choice.h"
#include "base/assertion.h"

namespace heaplab::ask {

namespace {

constexpr std::chrono::seconds usual_patience(2);  // on a busy machine a thread stops when its turn comes
constexpr std::chrono::microseconds step(100);
constexpr std::size_t vector_bytes = std::size_t{16} << 10;

// System calls that a stop ends with EINTR though no signal is delivered (signal(7)): those of sockets where
// these have time limits. Begun anew they do what they would have done; what has moved a byte is not ended.
constexpr std::uint64_t ended_by_stops[] = {
#ifdef SYS_epoll_wait  // newer machines have the others alone
    SYS_epoll_wait,
#endif
    SYS_epoll_pwait,    SYS_epoll_pwait2, SYS_semop,   SYS_semtimedop,      SYS_io_getevents,
    SYS_io_uring_enter, SYS_msgrcv,       SYS_msgsnd,  SYS_rt_sigtimedwait, SYS_read,
    SYS_readv,          SYS_recvfrom,     SYS_recvmsg, SYS_recvmmsg,        SYS_write,
    SYS_writev,         SYS_sendto,       SYS_sendmsg, SYS_sendmmsg,        SYS_sendfile,
    SYS_splice,         SYS_accept,       SYS_accept4, SYS_connect,
};

// Signals that are pending for the thread or its process and not blocked; all bits where /proc does not tell.
std::uint64_t deliverable(pid_t process, pid_t thread) {
  const auto mask = [&](std::string_view name, std::uint64_t untold) {
    return number_in_status(process, thread, name, 16).value_or(untold);
  };
  constexpr auto all = ~std::uint64_t{0};
  return (mask("SigPnd:\t", all) | mask("ShdPnd:\t", all)) & ~mask("SigBlk:\t", 0);
}

}  // namespace

bool is_ended_by_stops(std::uint64_t system_call) {
  return std::ranges::find(ended_by_stops, system_call) != std::end(ended_by_stops);
}

std::optional<traced_thread> traced_thread::seized(pid_t process, pid_t thread, int& refused) {
  refused = 0;
  // No option: PTRACE_O_EXITKILL would have the process die with this program.
  if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
    refused = errno;
    return std::nullopt;
  }
  return traced_thread(process, thread);
}

std::optional<traced_thread> traced_thread::stopped(pid_t process, pid_t thread, int& refused) {
  std::optional<traced_thread> found = seized(process, thread, refused);
  const moment end = std::chrono::steady_clock::now() + usual_patience;
  if (found && !(found->interrupt() && found->wait_until_stopped(end))) found.reset();
  return found;
}

bool traced_thread::interrupt() {
  HEAPLAB_ASSERT(thread_ > 0);
  noted_ = noted_of(process_, thread_);
  return ::ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) == 0;
}

bool traced_thread::wait_until_stopped(moment end) {
  for (;;) {
    const thread_state found = look();
    if (found != thread_state::running) return found == thread_state::stopped;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(step);
  }
}

thread_state traced_thread::look() {
  int status = 0;
  const pid_t changed = ::waitpid(thread_, &status, __WALL | WNOHANG);
  if (changed == 0) return thread_state::running;
  if (changed < 0 || !WIFSTOPPED(status)) return thread_state::ended;
  const int signal = WSTOPSIG(status);
  if (status >> 16 == PTRACE_EVENT_STOP) {
    if (signal == SIGTRAP) return take_registers() ? thread_state::stopped : thread_state::ended;
    ::ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);  // it stays stopped
    return thread_state::halted;
  }
  // A signal is being delivered: it is, and the stop that was asked for comes later.
  ::ptrace(PTRACE_CONT, thread_, nullptr, reinterpret_cast<void*>(static_cast<std::intptr_t>(signal)));
  return thread_state::running;
}

bool traced_thread::take_registers() {
  iovec place{&found_, sizeof found_};
  if (::ptrace(PTRACE_GETREGSET, thread_, NT_PRSTATUS, &place) != 0) return false;
  call_ = stopped_call_of(process_, thread_, noted_, found_);
  // The kernel itself starts most system calls anew, also if this program is killed.
  return !call_.is_ended || set(resumption());
}

traced_thread::traced_thread(traced_thread&& other) noexcept
    : process_(other.process_),
      thread_(std::exchange(other.thread_, 0)),
      noted_(other.noted_),
      found_(other.found_),
      call_(other.call_) {}

traced_thread::~traced_thread() {
  // What has not stopped cannot be let go: the kernel does so when this program ends.
  if (thread_ != 0) ::ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
}

bool traced_thread::has_signal() const {
  return deliverable(process_, thread_) != 0;
}

registers traced_thread::resumption() const {
  return has_signal() ? found_ : call_.resumption;  // a signal decides what becomes of the call
}

bool traced_thread::in_restartable_sequence() const {
  __ptrace_rseq_configuration area{};
  if (::ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread_, sizeof area, &area) < 0) return false;
  struct {
    std::uint32_t version, flags;
    std::uint64_t start, bytes, abort;
  } sequence{};
  std::uint64_t at = 0;
  constexpr std::size_t place_of_sequence = 8;  // struct rseq, rseq_cs
  if (area.rseq_abi_pointer == 0 ||
      !read_memory(process_, area.rseq_abi_pointer + place_of_sequence, &at, sizeof at) || at == 0 ||
      !read_memory(process_, at, &sequence, sizeof sequence))
    return false;
  return program_counter(found_) - sequence.start < sequence.bytes;
}

std::vector<std::byte> traced_thread::vector_registers() const {
  std::vector<std::byte> found(vector_bytes);
  iovec place{found.data(), found.size()};
  if (::ptrace(PTRACE_GETREGSET, thread_, vector_registers_note, &place) != 0) return {};
  found.resize(place.iov_len);
  return found;
}

bool traced_thread::set_vector_registers(const std::vector<std::byte>& wanted) {
  HEAPLAB_ASSERT(!wanted.empty() && wanted.size() <= vector_bytes);
  iovec place{const_cast<std::byte*>(wanted.data()), wanted.size()};
  return ::ptrace(PTRACE_SETREGSET, thread_, vector_registers_note, &place) == 0;
}

bool traced_thread::set(const registers& wanted) const {
  HEAPLAB_ASSERT(thread_ > 0);
  iovec place{const_cast<registers*>(&wanted), sizeof wanted};
  return ::ptrace(PTRACE_SETREGSET, thread_, NT_PRSTATUS, &place) == 0;
}

bool traced_thread::write(std::uint64_t address, const void* from, std::size_t bytes) const {
  const auto* const source = static_cast<const unsigned char*>(from);
  for (std::size_t done = 0; done < bytes; done += sizeof(long)) {
    long word = 0;
    const std::size_t some = std::min(sizeof word, bytes - done);
    if (some < sizeof word && !read_memory(process_, address + done, &word, sizeof word)) return false;
    std::memcpy(&word, source + done, some);
    if (::ptrace(PTRACE_POKEDATA, thread_, address + done, word) != 0) return false;
  }
  return true;
}

bool read_memory(pid_t process, std::uint64_t address, void* to, std::size_t bytes) {
  const iovec here{to, bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(process, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace heaplab::ask
