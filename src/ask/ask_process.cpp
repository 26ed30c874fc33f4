// The part of `heaplab look --ask` that is written in C++: has a thread of another process make calls. Only
// heaplab's front end calls this program (python/heaplab/running), with a plan on standard input (plan.h).
// Prints a line of JSON, then the pages of the area that the calls have written. An error is one line on
// standard error and exit status 1.
//
// Three times a thread is stopped, sent into the trampoline and let go at once: to map an area, to make the
// calls, to unmap the area. Where the plan says so, all threads make the calls, one after another. This
// program may be killed at any moment: what then stays is the area, unused.
#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ask/machine.h"
#include "ask/numbers_in_text.h"
#include "ask/plan.h"
#include "ask/thread_choice.h"
#include "ask/traced_thread.h"
#include "ask/trampoline.h"
#include "ask/unwound_stack.h"
#include "probes/json_line.h"

namespace heaplab::ask {
namespace {

using namespace std::chrono_literals;

constexpr auto search_patience = 5s;  // until a thread is found that can make a call
constexpr auto others_patience = 1s;  // until another one is found
constexpr auto call_patience = 1s;    // until a call has returned
constexpr auto work_patience = 20s;   // the same for a call that waits for nothing
constexpr auto between_looks = 1ms;
constexpr std::size_t page = 4096;

// A thread in the trampoline, and what it needs to leave it in the middle.
struct caller {
  pid_t thread;
  registers resumption;
  std::vector<std::byte> vectors;
  std::uint64_t frame;
};

// What the last thread looked at was like.
struct search {
  int refused = 0;
  stack_verdict verdict = stack_verdict::safe;
};

struct answer {
  const char* outcome = "answered";
  std::optional<caller> by;  // the last
  unsigned tried = 0;
  unsigned missed = 0;  // threads that did not make calls that each should make
  double seconds = 0;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what);
}

moment now() {
  return std::chrono::steady_clock::now();
}

template <typename Condition>
bool comes_true(Condition condition, std::chrono::nanoseconds patience) {
  for (const moment end = now() + patience; !condition();) {
    if (now() >= end) return false;
    std::this_thread::sleep_for(between_looks);
  }
  return true;
}

class asking {
public:
  explicit asking(const plan& of) : plan_(of) {
    for (const expected_bytes& expected : plan_.expected) expect(expected);
    unsafe_ = plan_.unsafe;
    unsafe_.push_back({plan_.code, plan_.code + trampoline_bytes()});
  }

  answer ask() {
    map_area();
    if (!write(plan_.area, plan_.content)) fail("the process has ended");
    answer found;
    const moment begin = now();
    const std::uint64_t first_of_one = std::max(plan_.records_begin, plan_.records_by_each);
    if (first_of_one > plan_.records_begin) {
      make_calls(found, {plan_.records_begin, first_of_one});
      ask_others(found);
    }
    const bool goes_on = std::string_view(found.outcome) == "answered";
    if (goes_on && first_of_one < plan_.records_end) make_calls(found, {first_of_one, plan_.records_end});
    found.seconds = std::chrono::duration<double>(now() - begin).count();
    return found;
  }

  // The pages of the area from its begin to the first empty one.
  std::vector<char> content() const {
    std::vector<char> found;
    std::vector<char> next(page);
    for (std::uint64_t at = plan_.area; at < plan_.area + plan_.area_bytes; at += page) {
      if (!read_memory(plan_.process, at, next.data(), page)) fail("the process has ended");
      const bool is_empty = std::ranges::all_of(next, [](char byte) { return byte == 0; });
      if (is_empty && found.size() >= plan_.content.size()) break;
      found.insert(found.end(), next.begin(), next.end());
    }
    return found;
  }

  void unmap_area() {
    call_record unmap{plan_.unmap, {plan_.area, plan_.area_bytes}, 0, 0};
    unsigned tried = 0;
    enter(unmap, tried);
    comes_true([this] { return !is_mapped(); }, call_patience);
  }

private:
  void expect(const expected_bytes& wanted) const {
    std::vector<unsigned char> found(wanted.bytes.size());
    if (!read_memory(plan_.process, wanted.address, found.data(), found.size()))
      fail(errno == EPERM ? "the kernel does not let its memory be read" : "the process has ended");
    if (found != wanted.bytes)
      fail("its code is not that of its files: another debugger or a probe changed it");
  }

  bool is_mapped() const {
    char byte = 0;
    return read_memory(plan_.process, plan_.area, &byte, 1);
  }

  void map_area() {
    constexpr int protection = PROT_READ | PROT_WRITE;
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    const call_record map{plan_.map, {plan_.area, plan_.area_bytes, protection, flags, ~0ULL, 0}, 0, 0};
    unsigned tried = 0;
    enter(map, tried);
    if (!comes_true([this] { return is_mapped(); }, call_patience))
      fail("no memory for an answer could be mapped in it");
  }

  bool write(std::uint64_t address, std::span<const unsigned char> bytes) const {
    const iovec here{const_cast<unsigned char*>(bytes.data()), bytes.size()};
    const iovec there{reinterpret_cast<void*>(address), bytes.size()};
    return ::process_vm_writev(plan_.process, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes.size());
  }

  bool is_done() const {
    std::uint64_t done = 0;
    return read_memory(plan_.process, plan_.done, &done, sizeof done) && done == 1;
  }

  void make_calls(answer& found, address_range records) {
    records_ = records;
    found.by = enter(std::nullopt, found.tried);
    wait_for_calls(found);
  }

  // Precondition: a thread has been sent to make the calls.
  void wait_for_calls(answer& found) {
    const auto is_over = [this] { return is_done(); };
    if (comes_true(is_over, call_patience)) return;
    if (::kill(plan_.process, 0) != 0) fail("the process has ended");
    if (abandon(*found.by))
      found.outcome = "abandoned";
    else if (!comes_true(is_over, work_patience))
      found.outcome = "at work";
  }

  // The threads that have not made the calls make them. Those that cannot are missed.
  void ask_others(answer& found) {
    search last;
    bool goes_on = is_done();
    for (moment end = now() + others_patience; goes_on && now() < end; std::this_thread::sleep_for(1ms)) {
      const std::vector<pid_t> threads = others();
      goes_on = !threads.empty();
      for (const pid_t id : threads) {
        std::optional<caller> by = try_to_send(id, std::nullopt, found.tried, last);
        if (!by) continue;
        found.by = *std::move(by);
        wait_for_calls(found);
        goes_on = is_done();
        if (!goes_on) break;
        end = now() + others_patience;
      }
    }
    for (const pid_t thread : all_threads_of(plan_.process))
      found.missed += !asked_.contains(thread) && !has_ended(plan_.process, thread);
  }

  // Threads that may make the calls and have not.
  std::vector<pid_t> others() const {
    std::vector<pid_t> found = threads_of(plan_.process);
    std::erase_if(found, [this](pid_t thread) { return asked_.contains(thread); });
    return found;
  }

  // Takes a thread that waits for a lock out of the call. A thread that works may hold locks, and goes on.
  bool abandon(const caller& by) const {
    if (!plan_.may_abandon) return false;
    int refused = 0;
    std::optional<traced_thread> thread = traced_thread::stopped(plan_.process, by.thread, refused);
    if (!thread || !thread->waits_for_lock() || is_done()) return false;
    std::uint64_t kept[2] = {};
    const std::uint64_t place = by.frame + offsetof(frame_head, errno_address);
    if (!read_memory(plan_.process, place, kept, sizeof kept)) return false;
    const auto errno_value = static_cast<std::uint32_t>(kept[1]);
    return thread->set_vector_registers(by.vectors) &&
           thread->write(kept[0], &errno_value, sizeof errno_value) && thread->set(by.resumption);
  }

  // Sends a thread into the trampoline, with one record or those of the area. The thread goes on at once.
  caller enter(const std::optional<call_record>& record, unsigned& tried) {
    search last;
    for (const moment end = now() + search_patience; now() < end; std::this_thread::sleep_for(20ms)) {
      const std::vector<pid_t> threads = threads_of(plan_.process);
      if (threads.empty() && ::kill(plan_.process, 0) != 0) fail("the process has ended");
      for (const pid_t id : threads)
        if (std::optional<caller> by = try_to_send(id, record, tried, last)) return *std::move(by);
      if (tried == 0 && last.refused == EPERM)
        fail("the kernel refuses to stop its threads: another debugger has them");
    }
    if (tried == 0) fail("none of its threads stops: it is stopped by a signal, or waits for a disk");
    fail(last.verdict == stack_verdict::unknown
             ? "no thread's stack could be followed to its end, so that no call is safe"
             : "no thread was outside of malloc, the loader and stdio, with room on its stack, for 5 s");
  }

  // None: the thread does not stop, or stands where it may hold a lock.
  std::optional<caller> try_to_send(pid_t id, const std::optional<call_record>& record, unsigned& tried,
                                    search& last) {
    std::optional<traced_thread> thread = traced_thread::stopped(plan_.process, id, last.refused);
    if (!thread) return std::nullopt;
    ++tried;
    if (thread->has_signal() || thread->in_restartable_sequence()) return std::nullopt;
    last.verdict = examine_stack(id, unsafe_);
    if (last.verdict != stack_verdict::safe) return std::nullopt;
    std::optional<caller> by = send(*thread, record);
    if (by && !record) asked_.insert(id);
    return by;
  }

  std::optional<caller> send(traced_thread& thread, const std::optional<call_record>& record) {
    const registers resumption = thread.resumption();
    const std::uint64_t at = frame_place(resumption);
    if (!has_room(at) || !has_code(thread)) return std::nullopt;
    trampoline_frame frame{};
    if (record) frame.head.first = *record;
    if (!keep(thread, resumption, frame) || !thread.write(at, &frame, sizeof frame)) return std::nullopt;
    std::vector<std::byte> vectors = thread.vector_registers();
    if (vectors.empty()) return std::nullopt;
    const calls_to_make calls{.code = plan_.code,
                              .errno_location = plan_.errno_location,
                              .begin = record ? at : records_.begin,
                              .end = record ? at + sizeof(call_record) : records_.end,
                              .done = record ? 0 : plan_.done};
    constexpr std::array<unsigned char, sizeof(std::uint64_t)> not_done{};
    if (!record && !write(plan_.done, not_done)) return std::nullopt;
    if (!thread.set(entry_of(resumption, at, calls))) return std::nullopt;
    return caller{thread.id(), resumption, std::move(vectors), at};
  }

  // Whether the stack of a thread reaches far enough below the frame. The first thread's stack grows.
  bool has_room(std::uint64_t frame) const {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/maps", plan_.process);
    std::FILE* const file = std::fopen(path, "re");
    if (file == nullptr) return false;
    bool found = false;
    char line[4096 + 128];
    while (!found && std::fgets(line, sizeof line, file) != nullptr) {
      std::string_view text = line;  // "BEGIN-END rw-p ...", in hexadecimal
      const auto begin = take_number<std::uint64_t>(text, 16);
      text.remove_prefix(std::min<std::size_t>(text.size(), 1));
      const auto end = take_number<std::uint64_t>(text, 16);
      found = begin && end && frame >= *begin && frame < *end && text.starts_with(" rw") &&
              (frame - *begin >= stack_need || text.find("[stack]") != text.npos);
    }
    std::fclose(file);
    return found;
  }

  // Puts the trampoline where it should be. It stays there, since a thread may be in it; of one that an
  // asking program was killed over, a part is there. No thread is in a part: threads follow when all is
  // there.
  bool has_code(traced_thread& thread) const {
    std::vector<unsigned char> found(trampoline_bytes());
    if (!read_memory(plan_.process, plan_.code, found.data(), found.size())) return false;
    if (std::memcmp(found.data(), heaplab_trampoline, found.size()) == 0) return true;
    for (std::size_t place = 0; place < found.size(); ++place) {
      if (found[place] != 0 && found[place] != heaplab_trampoline[place])
        fail("another program has put code behind that of its C library");
    }
    return thread.write(plan_.code, heaplab_trampoline, found.size());
  }

  const plan& plan_;
  std::vector<address_range> unsafe_;
  address_range records_{};  // of the calls to be made now
  std::set<pid_t> asked_;    // threads that were sent to make calls
};

void print(const answer& of, const std::vector<char>& content) {
  probes::json_line out;
  out.begin_object().key("outcome").value(of.outcome);
  out.key("tried").value(std::uint64_t{of.tried}).key("missed").value(std::uint64_t{of.missed});
  out.key("seconds").value(of.seconds);
  out.key("thread").value(static_cast<std::uint64_t>(of.by->thread)).end_object().end_line();
  const std::string_view text = out.text();
  if (std::fwrite(text.data(), text.size(), 1, stdout) != 1 ||
      std::fwrite(content.data(), 1, content.size(), stdout) != content.size())
    fail("standard output failed");
}

void carry_out() {
  const plan of = read_plan(std::cin);
  asking question(of);
  const answer found = question.ask();
  print(found, question.content());
  // A thread that is still at work writes to the area.
  if (std::strcmp(found.outcome, "at work") != 0) question.unmap_area();
}

}  // namespace
}  // namespace heaplab::ask

int main() {
  try {
    heaplab::ask::carry_out();
    return std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
