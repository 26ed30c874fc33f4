#include "recorder/process_description.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "recorder/hexadecimal.h"
#include "recorder/next_functions.h"
#include "recorder/stamp.h"

namespace heaplab::recorder {

namespace {

// Reads as much of a file as fits; the last two bytes of `room` stay zero.
void read_into(char* to, std::size_t room, const char* from) {
  const int opened = ::open(from, O_RDONLY | O_CLOEXEC);
  if (opened < 0) return;
  const ssize_t ignored [[maybe_unused]] = ::read(opened, to, room - 2);
  ::close(opened);
}

// As much of a text as fits, with a zero byte behind. Precondition: `to` is zeroed.
template <std::size_t Room>
void copy(const char* text, char (&to)[Room]) {
  memcpy(to, text, strnlen(text, Room - 1));
}

// The path by which the program was started: of a link its name, of a script that of the script. A program
// that was started by its descriptor has only the name of its file.
const char* name_of_program(const char* executable) {
  const auto* const started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  const bool by_descriptor = started == nullptr || *started == '\0' || strncmp(started, "/dev/fd/", 8) == 0;
  return by_descriptor ? executable : started;
}

}  // namespace

trace::raw_moment now() {
  const auto ns = [](clockid_t of) {
    timespec time{};
    clock_gettime(of, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
  };
  return {stamp_after(), ns(CLOCK_MONOTONIC), ns(CLOCK_REALTIME), ns(CLOCK_PROCESS_CPUTIME_ID)};
}

char* name_process(char* to, const char* folder, const trace::raw_moment& begun) {
  to = stpcpy(to, folder);
  *to++ = '/';
  to = add_hex(to, begun.monotonic_ns);
  *to++ = '-';
  to = add_hex(to, static_cast<std::uint64_t>(::getpid()));
  *to = '\0';
  return to;
}

void describe_process(trace::raw_header& header, const trace::raw_moment& begun, bool is_forked) {
  header.stamps = stamps_are_tickets ? trace::stamps::tickets : trace::stamps::counter;
  header.pid = static_cast<std::uint32_t>(::getpid());
  header.parent_pid = static_cast<std::uint32_t>(::getppid());
  header.forked = is_forked ? 1 : 0;
  header.begin = header.latest = begun;
  const ssize_t ignored [[maybe_unused]] =
      ::readlink("/proc/self/exe", header.executable, sizeof header.executable - 1);
  const char* const allocator = allocator_path();
  copy(*allocator != '\0' ? allocator : header.executable, header.allocator);
  copy(name_of_program(header.executable), header.program);
  read_into(header.arguments, sizeof header.arguments, "/proc/self/cmdline");
  header.bytes.store(trace::raw_header_bytes, std::memory_order_relaxed);
  header.magic = trace::raw_magic;
}

}  // namespace heaplab::recorder
