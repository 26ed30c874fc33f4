// A small stack of free blocks for each CPU and each kind of block. Threads that run on the CPU push and pop
// without a lock or an atomic instruction, by restartable sequences (core_sequences.h). The number of cached
// blocks is bounded by the CPUs, however many threads there are.
//
// Every pop and push is refused where there are no restartable sequences, and in every thread while a child
// of vfork uses the stacks: the kernel unregisters the rseq area of such a child, and then neither tells the
// child its CPU nor aborts its sequences.
//
// The stacks of a CPU lie in one piece of memory, whole at every instruction of every thread:
//
//   | stacks_head | null | blocks of kind 0 ... | null | blocks of kind 1 ... |
//
// The cached blocks lie above bottom, up to top; words above top are stale. A thread that vanishes in a fork
// has changed a top or has not: the child finds each stack as it was before or after a sequence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/narrow.h"
#include "base/process_barrier.h"
#include "base/rseq_area.h"
#include "concurrent/core_sequences.h"

namespace heaplab::concurrent {

// The system as core_stacks uses it. Tests replace it by a simulated one.
struct core_system {
  template <class T>
  using atomic = heaplab::atomic<T>;
  static constexpr unsigned cpus = sequence_cpus;

  // From the thread pointer to the area of any thread; 0: there are no sequences.
  static std::ptrdiff_t area() { return has_sequences ? rseq_area::distance() : 0; }
  static bool barrier() { return restart_barrier(); }

  HEAPLAB_FAST_PATH static sequence_end pop(const sequence_place& in, void*& block) {
    return pop_sequence(in, block);
  }
  HEAPLAB_FAST_PATH static sequence_end push(const sequence_place& in, void* block) {
    return push_sequence(in, block);
  }
};

// Plan::kinds is the number of kinds, Plan::most(cpu, kind) the most blocks of a kind that wait on a CPU, and
// Plan::first(cpu, kind) so many at first; all CPUs have as many words. Plan::steps(cpu): what leads from
// sizes of requests to kinds, bytes; may be empty.
template <class Plan, class System = core_system>
class core_stacks {
  template <class T>
  using atomic = typename System::template atomic<T>;
  using word = void*;
  static constexpr unsigned kinds = Plan::kinds;

public:
  static constexpr unsigned cpus = System::cpus;

  static constexpr std::size_t bytes_of_cpu() { return words_of_cpu() * sizeof(word); }

  // Called before every other function. Until then pops and pushes are refused. Only the first call counts.
  void open() {
    if (System::area() == 0) return;
    opened_area_.store(System::area(), std::memory_order_relaxed);
    count_children(0);
  }

  // Called with 1 before a child of vfork is made, and with -1 when the child has ended or has become another
  // program. Meanwhile pops and pushes are refused. A sequence of another thread that has begun before goes
  // on undisturbed: the child begins none.
  void count_children(int more) {
    std::ptrdiff_t seen = area_.load(std::memory_order_relaxed);
    // The child finds what its parent's thread has stored. release: of open().
    while (!area_.compare_exchange_weak(seen, with_children(is_shut(seen) ? (seen >> 1) + more : more),
                                        std::memory_order_release, std::memory_order_relaxed)) {
    }
  }

  bool are_possible() const { return !is_shut(area_.load(std::memory_order_relaxed)); }

  // The CPU on which the calling thread runs, if it runs there still; `cpus` where that is not known.
  unsigned cpu() const {
    const std::ptrdiff_t area = area_.load(std::memory_order_relaxed);
    if (is_shut(area)) return cpus;
    const char* const place = static_cast<const char*>(__builtin_thread_pointer()) + area;
    // The kernel writes the number while the thread does not run.
    const auto* const number = reinterpret_cast<const volatile std::uint32_t*>(place + rseq_area::cpu_id_at);
    const std::uint32_t cpu = *number;
    return std::min(cpu, cpus);
  }

  // --- by any thread of the program, on its present CPU ---

  // Where pops and pushes are possible, as the caller knows: acquire of what was stored since are_possible()
  // said so.
  HEAPLAB_FAST_PATH sequence_end pop_of_step(std::size_t step, void*& block) {
    return System::pop(place_of(opened_area_.load(std::memory_order_relaxed), step), block);
  }
  HEAPLAB_FAST_PATH sequence_end push(std::size_t kind, void* block) {
    return System::push(place_of(opened_area_.load(std::memory_order_relaxed), kind), block);
  }

  // Where that is not known.
  sequence_end try_pop_of_step(std::size_t step, void*& block) {
    const std::ptrdiff_t area = area_.load(std::memory_order_acquire);
    return is_shut(area) ? sequence_end::refused : System::pop(place_of(area, step), block);
  }
  sequence_end try_push(std::size_t kind, void* block) {
    const std::ptrdiff_t area = area_.load(std::memory_order_acquire);
    return is_shut(area) ? sequence_end::refused : System::push(place_of(area, kind), block);
  }

  // The same with several blocks, `count` > 0. Pops the newest first, and pushes the first one first.
  sequence_end try_pop(unsigned kind, void** blocks, unsigned count) {
    const std::ptrdiff_t area = area_.load(std::memory_order_acquire);
    return is_shut(area) ? sequence_end::refused : pop_many_sequence(place_of(area, kind), blocks, count);
  }
  sequence_end try_push(unsigned kind, void* const* blocks, unsigned count) {
    const std::ptrdiff_t area = area_.load(std::memory_order_acquire);
    return is_shut(area) ? sequence_end::refused : push_many_sequence(place_of(area, kind), blocks, count);
  }

  // --- by any thread ---

  bool has(unsigned cpu) const { return cpu < cpus && stacks_of(cpu) != nullptr; }

  // Gives a CPU its stacks, in bytes_of_cpu() bytes of zeros at a multiple of 8. Returns false if the CPU
  // has stacks already.
  bool add(unsigned cpu, void* zeros) {
    auto* const words = static_cast<word*>(zeros);
    const auto& steps = Plan::steps(cpu);
    std::copy(steps.begin(), steps.end(), head_in(words).kind_of_step);
    std::uint32_t next = words_of_head;
    for (unsigned kind = 0; kind < kinds; ++kind) {
      stack_bounds& bounds = bounds_in(words, kind);
      bounds.top = bounds.bottom = static_cast<std::uint16_t>(next);
      bounds.limit = narrow<std::uint16_t>(next + Plan::first(cpu, kind));
      next += Plan::most(cpu, kind);
      bounds.end = static_cast<std::uint16_t>(next++);
    }
    // First, so that a CPU with stacks is below the end also in the child of a fork that copies this thread.
    unsigned seen = end_.load(std::memory_order_relaxed);
    while (seen <= cpu &&
           !end_.compare_exchange_weak(seen, cpu + 1, std::memory_order_release, std::memory_order_relaxed)) {
    }
    word* none = nullptr;
    // release publishes head and bounds; to the sequences, which depend on the address, and to stacks_of.
    if (!made_[cpu].compare_exchange_strong(none, words, std::memory_order_release,
                                            std::memory_order_relaxed))
      return false;
    // Fails where stop() has come between: resume() then opens the stacks. release: as above.
    std::ptrdiff_t shut = 0;
    active_.of_cpu[cpu].compare_exchange_strong(shut, entry_of(words), std::memory_order_release,
                                                std::memory_order_relaxed);
    return true;
  }

  // CPUs from this number on have no stacks.
  unsigned end() const { return end_.load(std::memory_order_acquire); }

  // How many blocks of a kind may wait on the CPU.
  unsigned limit(unsigned cpu, unsigned kind) const {
    const stack_bounds& bounds = bounds_in(stacks_of(cpu), kind);
    return read(bounds.limit) - bounds.bottom;
  }

  // Doubles that number, as far as the plan allows. False: it was the most. Two threads may come at once, and
  // double it once.
  bool raise_limit(unsigned cpu, unsigned kind) {
    stack_bounds& bounds = bounds_in(stacks_of(cpu), kind);
    const std::uint16_t seen = read(bounds.limit);
    if (seen == bounds.end) return false;
    set_limit(bounds, std::min<unsigned>(bounds.bottom + 2U * (seen - bounds.bottom), bounds.end));
    return true;
  }

  // How many blocks of a kind wait on the CPU: a number of a moment ago.
  unsigned count(unsigned cpu, unsigned kind) const {
    word* const words = stacks_of(cpu);
    if (words == nullptr) return 0;
    const stack_bounds& bounds = bounds_in(words, kind);
    return static_cast<unsigned>(read(bounds.top) - bounds.bottom);
  }

  // Whether a block waits anywhere. Of a block that this thread could use until now, and that waits nowhere
  // now, the answer is no: what was below a top when that was read had been pushed after the block was
  // popped.
  bool holds(unsigned kind, const void* block) const {
    for (unsigned cpu = 0; cpu < end(); ++cpu) {
      word* const words = stacks_of(cpu);
      if (words == nullptr) continue;
      const stack_bounds& bounds = bounds_in(words, kind);
      // acquire pairs with the commit of a push.
      for (unsigned at = atomic_ref(const_cast<std::uint16_t&>(bounds.top)).load(std::memory_order_acquire);
           at > bounds.bottom; --at)
        if (atomic_ref(words[at]).load(std::memory_order_relaxed) == block) return true;
    }
    return false;
  }

  // --- by one thread at a time ---

  // Stops the stacks of the CPUs that `chosen` names: until resume() their pops and pushes are refused, and
  // those under way have been aborted or committed, so that this thread alone may take_all from there. False:
  // nothing is stopped, because nothing is to be, or the system refuses (before Linux 5.10).
  //
  // A sequence reads active_ after its beginning. Either it finds the entry `stopped`, or it has begun before
  // the barrier, which then aborts it.
  template <class Chosen>
  bool stop(Chosen&& chosen) {
    if (mark_stopped(chosen) && System::barrier()) return true;
    resume();
    return false;
  }

  // The same for the one thread of a program, without a barrier: no sequence is under way.
  bool stop_alone() {
    return mark_stopped([](unsigned) { return true; });
  }

  bool is_stopped(unsigned cpu) const { return is_stopped_[cpu]; }

  // Takes every block that waits on a stopped CPU and calls take(kind, block), after the block has left its
  // stack. Each stack begins again with the limit that it had at first.
  template <class Take>
  void take_all(unsigned cpu, Take&& take) {
    word* const words = stacks_of(cpu);
    for (unsigned kind = 0; kind < kinds; ++kind) {
      stack_bounds& bounds = bounds_in(words, kind);
      set_limit(bounds, bounds.bottom + Plan::first(cpu, kind));
      while (bounds.top != bounds.bottom) {
        void* const block = words[bounds.top];
        // The child of a fork that copies this thread loses a block here, and finds none twice.
        atomic_ref(bounds.top).store(static_cast<std::uint16_t>(bounds.top - 1), std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        take(kind, block);
      }
    }
  }

  void resume() {
    for (unsigned cpu = 0; cpu < end(); ++cpu) {
      if (!is_stopped_[cpu]) continue;
      is_stopped_[cpu] = false;
      // release: the sequences find the stacks as this thread leaves them.
      active_.of_cpu[cpu].store(entry_of(stacks_of(cpu)), std::memory_order_release);
    }
  }

  // The thread that stopped stacks, or gave a CPU some, may have vanished. `of_child`: it was a child of
  // vfork that forked. The kernel knows no area of its child either.
  void after_fork_in_child(bool of_child) {
    area_.store(with_children(of_child ? 1 : 0), std::memory_order_relaxed);
    for (unsigned cpu = 0; cpu < end(); ++cpu) {
      word* const words = stacks_of(cpu);
      if (is_stopped_[cpu]) is_stopped_[cpu] = false;
      const std::ptrdiff_t entry = words == nullptr ? 0 : entry_of(words);
      if (active_.of_cpu[cpu].load(std::memory_order_relaxed) != entry)
        active_.of_cpu[cpu].store(entry, std::memory_order_relaxed);
    }
  }

private:
  static constexpr unsigned words_of_head = sizeof(stacks_head) / sizeof(word);
  static constexpr std::size_t words_of_cpu() {
    std::size_t words = words_of_head;
    for (unsigned kind = 0; kind < kinds; ++kind) words += Plan::most(0, kind) + 1;
    return words;
  }
  static_assert(words_of_cpu() <= UINT16_MAX);
  using table = sequence_table<atomic<std::ptrdiff_t>, cpus>;
  static_assert(kinds <= stacks_head::most_kinds && Plan::steps(0).size() <= stacks_head::most_steps);
  static_assert(!std::is_same_v<System, core_system> || sizeof(table) == sizeof(plain_sequence_table));

  HEAPLAB_FAST_PATH static bool is_shut(std::ptrdiff_t area) { return (area & 1) != 0; }
  // What area_ is beside so many children of vfork.
  std::ptrdiff_t with_children(std::ptrdiff_t children) const {
    const std::ptrdiff_t area = opened_area_.load(std::memory_order_relaxed);
    return children == 0 && area != 0 ? area : 2 * children + 1;
  }

  HEAPLAB_FAST_PATH sequence_place place_of(std::ptrdiff_t area, std::size_t kind) const {
    return {area, &active_, kind};
  }

  template <class Chosen>
  bool mark_stopped(Chosen&& chosen) {
    bool any = false;
    for (unsigned cpu = 0; cpu < end(); ++cpu)
      if (stacks_of(cpu) != nullptr && chosen(cpu)) {
        is_stopped_[cpu] = any = true;
        // seq_cst: before the barrier.
        active_.of_cpu[cpu].store(table::stopped, std::memory_order_seq_cst);
      }
    return any;
  }

  static stacks_head& head_in(word* words) { return *reinterpret_cast<stacks_head*>(words); }
  static stack_bounds& bounds_in(word* words, unsigned kind) { return head_in(words).bounds[kind]; }

  std::ptrdiff_t entry_of(const word* words) const {
    return reinterpret_cast<const char*>(words) - reinterpret_cast<const char*>(&active_);
  }

  word* stacks_of(unsigned cpu) const { return made_[cpu].load(std::memory_order_acquire); }

  static std::uint16_t read(const std::uint16_t& bound) {
    return atomic_ref(const_cast<std::uint16_t&>(bound)).load(std::memory_order_relaxed);
  }
  static void set_limit(stack_bounds& bounds, unsigned limit) {
    atomic_ref(bounds.limit).store(static_cast<std::uint16_t>(limit), std::memory_order_relaxed);
  }

  // What the sequences use. The entry of a CPU is 0 until add() opens the stacks, which it does unless
  // they are stopped; `stopped` while they are; else it names the same stacks as made_.
  table active_;
  // The distance of the area of any thread, a multiple of 16; odd where pops and pushes are refused: twice
  // the number of children of vfork, and 1.
  atomic<std::ptrdiff_t> area_{1};
  // The same distance whatever is refused, for whoever knows that nothing is; 0 before open(), and for ever
  // where there are no sequences.
  atomic<std::ptrdiff_t> opened_area_{0};
  // Null until the CPU has stacks, which then stay.
  atomic<word*> made_[cpus];
  atomic<unsigned> end_{0};
  // Used by the thread that stops.
  bool is_stopped_[cpus] = {};
};

}  // namespace heaplab::concurrent
