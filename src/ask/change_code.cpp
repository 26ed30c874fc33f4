// Changes code of a running process, all of it while none of its threads runs
// (python/heaplab/running/attaching.py). Only heaplab's front end calls this program. Standard input has
// lines `process PID`, in decimal, and `change ADDRESS BEFORE AFTER`, in hexadecimal. Prints a line of JSON
// with `why` nothing was changed now, to be tried again; an error is one line on standard error and exit
// status 1.
//
// This program may be killed at any moment: each change is written by one system call, and each thread goes
// on by itself.
#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <list>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ask/thread_choice.h"
#include "ask/traced_thread.h"
#include "probes/json_line.h"

namespace heaplab::ask {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 50ms;      // as long as no thread runs
constexpr auto late_patience = 10s;  // for a thread that is about to stop, while the others go on
constexpr auto between_looks = 50us;
constexpr std::size_t word = sizeof(std::uint64_t);

struct change {
  std::uint64_t address;
  std::vector<unsigned char> before, after;
};

struct plan {
  pid_t process = 0;
  std::vector<change> changes;
};

struct mapping {
  std::uint64_t begin, end;
};

// What may be otherwise a moment later.
struct not_now : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what);
}

std::vector<unsigned char> bytes_of(const std::string& text) {
  std::vector<unsigned char> found;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2)
    found.push_back(static_cast<unsigned char>(std::stoul(text.substr(at, 2), nullptr, 16)));
  return found;
}

plan read_plan() {
  plan found;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name, before, after;
    words >> name;
    if (name == "process") {
      words >> found.process;
    } else {
      change next{};
      words >> std::hex >> next.address >> before >> after;
      next.before = bytes_of(before);
      next.after = bytes_of(after);
      found.changes.push_back(next);
    }
    if (!words) fail("a line of the plan is cut off: " + line);
  }
  return found;
}

// The mappings that can be written.
std::vector<mapping> mappings_of(pid_t process) {
  std::vector<mapping> found;
  std::FILE* const file = std::fopen(("/proc/" + std::to_string(process) + "/maps").c_str(), "re");
  if (file == nullptr) return found;
  char line[4096 + 128];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    char* rest = nullptr;  // BEGIN-END rw...
    const std::uint64_t begin = std::strtoull(line, &rest, 16);
    if (*rest != '-') continue;
    const std::uint64_t end = std::strtoull(rest + 1, &rest, 16);
    if (std::strlen(rest) > 2 && rest[2] == 'w') found.push_back({begin, end});
  }
  std::fclose(file);
  return found;
}

moment now() {
  return std::chrono::steady_clock::now();
}

// From the moment at which the first thread is asked to stop until all but late ones go on.
struct pause {
  moment begin, end;
};

// All threads of a process, stopped as long as the object lives.
class stopped_threads {
public:
  stopped_threads(pid_t process, pause& told) : process_(process), told_(told) {
    std::list<traced_thread> found = other_threads();
    told_.begin = now();
    // A thread that is not stopped yet may make another meanwhile.
    for (; !found.empty(); found = other_threads()) stop(found, told_.begin + patience);
    if (threads_.empty()) fail("the process has ended");
  }
  ~stopped_threads() { go_on(); }
  stopped_threads(const stopped_threads&) = delete;
  stopped_threads& operator=(const stopped_threads&) = delete;

  std::size_t count() const { return threads_.size(); }

  // Whether a thread is among the bytes of code, or goes on there when a signal handler returns.
  bool any_inside(std::vector<change> changes, const std::vector<mapping>& memory) const {
    // Nor is anybody inside of a jump that an earlier call has written.
    std::erase_if(changes, [](const change& of) { return is_one_instruction(of.before); });
    return !changes.empty() && std::ranges::any_of(threads_, [&](const traced_thread& thread) {
      const registers& of = thread.found();
      return is_inside(program_counter(of), changes) || any_word_inside(stack_pointer(of), memory, changes);
    });
  }

  void write(const change& of) {
    if (!threads_.front().write(of.address, of.after.data(), of.after.size())) fail("the process has ended");
  }

private:
  // The threads that go on, seized.
  std::list<traced_thread> other_threads() {
    std::list<traced_thread> found;
    for (const pid_t id : all_threads_of(process_)) {
      if (known_.contains(id)) continue;
      int refused = 0;
      std::optional<traced_thread> thread = traced_thread::seized(process_, id, refused);
      if (thread)
        found.push_back(*std::move(thread));
      else if (refused == EPERM && !has_ended(process_, id))
        fail("the kernel refuses to stop its threads: another debugger has them");
    }
    return found;
  }

  // Stops threads, all at the same time, and takes each as soon as it has stopped.
  void stop(std::list<traced_thread>& running, moment end) {
    for (traced_thread& thread : running) thread.interrupt();
    while (!running.empty()) {
      const std::size_t before = running.size();
      for (auto next = running.begin(); next != running.end();) {
        const auto thread = next++;
        const thread_state found = thread->look();
        if (found == thread_state::halted || (found == thread_state::running && now() >= end))
          give_up(running);
        if (found == thread_state::running) continue;
        known_.insert(thread->id());
        if (found == thread_state::stopped)
          threads_.splice(threads_.end(), running, thread);
        else
          running.erase(thread);
      }
      if (running.size() == before) std::this_thread::sleep_for(between_looks);
    }
  }

  void go_on() {
    threads_.clear();
    told_.end = now();
  }

  // All others go on. A late thread that was left alone would see the end of its system call (EINTR).
  [[noreturn]] void give_up(std::list<traced_thread>& late) {
    go_on();
    const moment end = now() + late_patience;
    const std::string id = std::to_string(late.front().id());
    for (traced_thread& thread : late) thread.wait_until_stopped(end);
    throw not_now("thread " + id + " waits for a disk, or is stopped by a signal");
  }

  static bool is_inside(std::uint64_t address, const std::vector<change>& changes) {
    return std::ranges::any_of(changes, [address](const change& of) {
      return address > of.address && address < of.address + of.after.size();
    });
  }

  // A signal handler has the address at which its thread goes on above it on the stack. What cannot be read
  // was mapped just now.
  bool any_word_inside(std::uint64_t stack_pointer, const std::vector<mapping>& memory,
                       const std::vector<change>& changes) const {
    const auto holds = [&](mapping of) { return stack_pointer >= of.begin && stack_pointer < of.end; };
    const auto stack = std::ranges::find_if(memory, holds);
    if (stack == memory.end()) return true;
    constexpr std::uint64_t most = std::uint64_t{8} << 20;
    const std::uint64_t begin = stack_pointer / word * word;
    std::vector<std::uint64_t> words(std::min(stack->end - begin, most) / word);
    if (!read_memory(process_, begin, words.data(), words.size() * word)) return true;
    return std::ranges::any_of(words, [&](std::uint64_t value) { return is_inside(value, changes); });
  }

  pid_t process_;
  pause& told_;
  std::list<traced_thread> threads_;
  std::set<pid_t> known_;
};

// What is to be written: not what an earlier call has written.
std::vector<change> due(const plan& of) {
  std::vector<change> found;
  for (const change& next : of.changes) {
    std::vector<unsigned char> now(next.before.size());
    if (!read_memory(of.process, next.address, now.data(), now.size())) fail("the process has ended");
    if (now == next.after) continue;
    if (now != next.before) fail("its code is not that of its files: another debugger or a probe changed it");
    found.push_back(next);
  }
  return found;
}

std::size_t change_all(const plan& of, const std::vector<mapping>& memory, pause& told) {
  stopped_threads threads(of.process, told);
  const std::vector<change> changes = due(of);
  if (threads.any_inside(changes, memory))
    throw not_now("a thread stays in the first instructions of its malloc");
  for (const change& next : changes) threads.write(next);
  return threads.count();
}

void carry_out() {
  const plan of = read_plan();
  const std::vector<mapping> memory = mappings_of(of.process);
  std::size_t threads = 0;
  std::string why;
  pause stood;
  try {
    threads = change_all(of, memory, stood);
  } catch (const not_now& told) {
    why = told.what();
  }
  const std::chrono::duration<double> passed = stood.end - stood.begin;
  probes::json_line out;
  out.begin_object().key("why").value(why).key("threads").value(std::uint64_t{threads});
  out.key("seconds").value(passed.count()).end_object().end_line();
  std::cout << out.text();
}

}  // namespace
}  // namespace heaplab::ask

int main() {
  // The pause ends sooner where processes wait for a processor. A nice value ranks this program among those
  // of its session alone (sched(7), autogroups). Without the right for either the pause is as long as it is.
  constexpr sched_param least_urgent{.sched_priority = 1};
  if (::sched_setscheduler(0, SCHED_RR, &least_urgent) != 0) ::setpriority(PRIO_PROCESS, 0, -20);
  try {
    heaplab::ask::carry_out();
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
