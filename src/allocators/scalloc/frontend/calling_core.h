// The local allocation buffer of the CPU on which the calling thread runs, and the CPU's cache of free blocks
// in front of it. Instead of calling_thread.h where the memory that waits shall be bounded by CPUs.
//
//   malloc   pops a block from the cache: a restartable sequence (concurrent/core_stacks.h), no lock. Where
//            the cache is empty: takes the lock of the buffer, and a batch of blocks from the buffer's list
//            (free_lists.h).
//   free     pushes the block, whichever buffer its span belongs to. Where the cache is full: gives half of
//            it back, to the buffer if its lock is free, else as another thread frees, who waits for no lock.
//
// A block in a cache is live to its span, so that everything below knows nothing of caches: spans, holes,
// fork. The heap must ask caches and lists only where it counts live blocks (for_each_cached), looks for a
// block that is freed again (deallocate_slow), and gives memory back (flush).
//
// Where there are no restartable sequences (core_stacks.h), threads are numbered, and those whose numbers are
// equal modulo the number of CPUs share a buffer, as in the paper's CLAB. Every call takes its lock, and pops
// from its list or pushes onto it, as calls for larger blocks do everywhere.
//
// So it is while a child of vfork lives (before_vfork): the kernel does not know the child's area. A child
// that is made otherwise and shares the memory and the thread-local variables of its parent (clone with
// CLONE_VM, without CLONE_SETTLS, or vfork as a bare system call) must not allocate while other threads do.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/frontend/allocation.h"
#include "allocators/scalloc/frontend/freeing.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/frontend/lab_registry.h"
#include "allocators/scalloc/frontend/returned_blocks.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "base/bits.h"
#include "base/cache_line.h"
#include "base/compiler.h"
#include "base/errno_keeper.h"
#include "base/narrow.h"
#include "base/os_pages.h"
#include "concurrent/core_stacks.h"
#include "concurrent/futex_lock.h"
#include "concurrent/relaxed_compare.h"
#include "concurrent/sync.h"

namespace heaplab::scalloc {

template <class Traits, span_life<Traits>& Life>
class calling_core {
  using lab_type = lab<Traits>;
  using span_type = span<Traits>;
  using classes = typename Traits::classes;
  using numbers = list_numbers<Traits::config>;
  using policy = core_local_labs<Traits>;
  using use = typename policy::use;
  using sequence_end = concurrent::sequence_end;
  static constexpr const scalloc::config& config = Traits::config;
  static_assert(config.most_cached > 0 && !config.hardened);

  // How many blocks of a class a CPU caches: at most most_blocks, and no more than fit into most_bytes. At
  // first first_blocks, and twice as many whenever the cache has run empty or full. More take the lock less
  // often, and keep more spans from becoming empty.
  static constexpr std::uint32_t most_blocks = 128, first_blocks = 8;
  static constexpr std::size_t most_bytes = 64 * kib;
  static constexpr unsigned owner(unsigned cpu) { return cpu % numbers::owners; }
  // Whether what the CPU frees into the list waits there until it goes home: blocks of other CPUs' spans.
  static constexpr bool are_foreign(unsigned cpu, unsigned list) {
    return list != numbers::of(numbers::class_of[list], owner(cpu));
  }
  // The kinds of the stacks are the numbers of lists (list_numbers.h).
  struct plan {
    static constexpr unsigned kinds = numbers::count;
    static constexpr std::uint32_t most(unsigned cpu, unsigned list) {
      const std::size_t bytes = classes::table[numbers::class_of[list]].block_bytes;
      if (list == 0 || bytes > classes::lookup_limit) return 0;
      if (are_foreign(cpu, list)) return config.lines_kept;
      return narrow<std::uint32_t>(std::min<std::size_t>(most_blocks, most_bytes / bytes));
    }
    static constexpr std::uint32_t first(unsigned cpu, unsigned list) {
      return std::min(first_blocks, most(cpu, list));
    }
    static constexpr const auto& steps(unsigned cpu) { return numbers::lookups[owner(cpu)]; }
  };
  using stacks = concurrent::core_stacks<plan>;
  // Half of the largest cache of a class.
  static constexpr unsigned most_at_once = most_blocks / 2;

public:
  // --- the fast path ---

  // Null: the cache has no block, and the buffer must be asked. Any size.
  HEAPLAB_FAST_PATH static void* try_allocate(std::size_t bytes) {
    void* block;
    if (!concurrent::exceeds<std::memory_order_acquire>(bytes_end_, bytes) ||
        stacks_.pop_of_step(classes::step_of(bytes), block) != sequence_end::committed) [[unlikely]]
      return nullptr;
    mark(block, nullptr);
    return block;
  }

  // False: nothing was done, and deallocate_slow must be called. Any address.
  HEAPLAB_FAST_PATH static bool try_deallocate(void* block) {
    const page_map<Traits>& map = Life.arena.map();
    const std::size_t step = Life.arena.step_of(block);
    if (!map.serves(step)) [[unlikely]]
      return false;
    const std::size_t list = map.at(step);
    if (is_marked(block, map.address())) [[unlikely]]
      return false;
    mark(block, map.address());
    if (stacks_.push(list, block) == sequence_end::committed) [[likely]]
      return true;
    mark(block, nullptr);
    return false;
  }

  // --- everything else ---

  // Called where the fast path had no block: from the cache once more, or from the buffer, which then fills
  // the cache. Where the sequence is aborted each time, as under a debugger that stops the thread after every
  // instruction, blocks on the way into the cache would not get there. As calling_thread::allocate_slow.
  HEAPLAB_FAST_PATH static void* allocate_slow(unsigned class_index, bool& is_zero, bool (*make_room)()) {
    void* block;
    const sequence_end end = pop_again(class_index, block);
    if (end == sequence_end::committed) return mark(block, nullptr), block;
    lab_type* const local = own_buffer(make_room);
    if (local == nullptr) return nullptr;
    const use in_use(local);
    block = scalloc::allocate_slow(Life, *local, class_index, is_zero);
    if (block != nullptr && end != sequence_end::aborted) refill(*local, class_index);
    return block;
  }

  // Whether a list takes a block that the cache did not take: because it is full, the CPU has none yet, or
  // the sequence was aborted. Where it is aborted again, the cache is left alone (allocate_slow).
  static bool list_again(void* block) {
    const unsigned list = Life.arena.list_of(block);
    if (list == 0 || looks_free(Life, block)) return false;
    mark_free(Life, block);
    if (const unsigned cpu = stacks_.cpu(); cpu < stacks::cpus)
      push_again(cpu, list, block);
    else
      flush_to_buffer(list, &block, 1);
    return true;
  }

  // Frees a block of a class that is not cached, that is marked, or of which the page map says nothing.
  static void deallocate_slow(span_type& span, void* block) {
    // The page map may name nobody.
    lab_type* const owner = span.owner(std::memory_order_acquire);
    if (looks_free(Life, block) && is_cached(span.class_index.load(std::memory_order_relaxed), block))
      refuse_double_free(block);
    // An owner's own free looks for the block in the owner's lists. An orphan has no owner, so look here.
    if (owner == &Life.orphanage && is_free_already(Life, *owner, span, block)) refuse_double_free(block);
    if (owner == nullptr || owner == &Life.orphanage) return send_home(Life, none_, span, block);
    const use in_use(owner);
    send_home(Life, *owner, span, block);
  }

  // The buffer of this CPU. Of a CPU that has none yet, an empty buffer that is never written.
  static lab_type* buffer() {
    lab_type* const lab = cores_[core(stacks_.cpu())].buffer.load(std::memory_order_acquire);
    return lab == nullptr ? &none_ : lab;
  }

  // Calls visit(class, number of cached blocks), with numbers of a moment ago.
  template <class Visit>
  static void for_each_cached(Visit&& visit) {
    for (unsigned cpu = 0; cpu < stacks_.end(); ++cpu)
      for (unsigned list = 1; list < numbers::count; ++list)
        if (const unsigned count = stacks_.count(cpu, list); count > 0) visit(numbers::class_of[list], count);
    labs_.for_each_listed(visit);
  }

  // Frees the cached blocks of all CPUs, and leaves no buffer a hot span. Of other CPUs only where the
  // program has one thread, or the background purge thread has stopped them before: a filter of system calls
  // may kill a process that asks for a barrier, and this one has done without so far. Else the blocks of the
  // present CPU alone.
  static void flush() {
    const concurrent::lock_holder hold(flush_lock_);
    const errno_keeper keep;
    if (stop_all()) {
      for (unsigned cpu = 0; cpu < stacks_.end(); ++cpu) {
        if (!stacks_.is_stopped(cpu)) continue;
        lab_type* const local = cores_[cpu].buffer.load(std::memory_order_acquire);
        const use in_use(local);
        empty_cache(cpu, local == nullptr ? none_ : *local);
      }
      stacks_.resume();
    } else {
      for (unsigned list = 1; list < numbers::count; ++list)
        for (void* block; stacks_.try_pop(list, &block, 1) == sequence_end::committed;)
          flush_blocks(Life, none_, numbers::class_of[list], &block, 1);
    }
    for (unsigned number = 0; number < std::max(stacks_.end(), Life.pool.columns()); ++number)
      if (lab_type* const local = cores_[number].buffer.load(std::memory_order_acquire)) {
        const use in_use(local);
        retire_hot_spans(Life, *local);
      }
  }

  // Called by the background purge thread, which has no restartable sequences, no thread-local variables of
  // ours, and does not wait: does the same with CPUs on which no thread came here since the last look. `now`
  // is in ms.
  static void flush_idle(std::int64_t now) {
    if (now < next_look_ || !flush_lock_.try_lock()) return;
    next_look_ = now + config.decay_milliseconds;
    if (stacks_.stop([](unsigned cpu) { return was_idle(cores_[cpu]); })) {
      has_stopped_others_ = true;
      for (unsigned cpu = 0; cpu < stacks_.end(); ++cpu)
        if (stacks_.is_stopped(cpu)) empty_idle(cpu);
      stacks_.resume();
    }
    flush_lock_.unlock();
  }

  // Once in a process, before the first buffer is made. Nothing is to be done where a thread ends.
  static void open(void (*)(void*)) {
    change_stacks([] { stacks_.open(); });
  }
  static void end(void*) {}

  // Around vfork, by its caller: the child has not yet been made, and is no more or fails to be made.
  static void before_vfork() {
    ++children_;
    change_stacks([] { stacks_.count_children(1); });
  }
  static void after_vfork() {
    change_stacks([] { stacks_.count_children(-1); });
    --children_;
  }

  static void after_fork_in_child() {
    flush_lock_.forget_holder();
    change_stacks([] { stacks_.after_fork_in_child(children_ > 0); });
    labs_.after_fork_in_child(Life, use::held_by_thread());
  }

private:
  // Every change of what the stacks refuse. The fast paths do not ask the stacks: while they refuse all, no
  // size and no block is below the bound that malloc and free compare with anyway. A child of vfork finds the
  // bounds as the thread has stored them that is its parent.
  template <class Change>
  static void change_stacks(Change&& change) {
    Life.arena.map().serve_fast_path([&] {
      change();
      const bool serve = stacks_.are_possible();
      bytes_end_.store(serve ? classes::lookup_limit + 1 : 0, std::memory_order_release);
      return serve;
    });
  }

  // The buffer of this CPU, made if need be; `make_room` is called where no memory is left, and says whether
  // to try again. Null: no memory.
  static lab_type* own_buffer(bool (*make_room)()) {
    const unsigned cpu = stacks_.cpu(), number = core(cpu);
    if (cpu < stacks::cpus) add_stacks(cpu);
    if (lab_type* const lab = cores_[number].buffer.load(std::memory_order_acquire)) return lab;
    if (stacks_.are_possible()) Life.pool.see_processor(number);
    lab_type* lab = labs_.attach(stacks::cpus, number);
    if (lab == nullptr && make_room()) lab = labs_.attach(stacks::cpus, number);
    if (lab != nullptr) cores_[number].buffer.store(lab, std::memory_order_release);
    return lab;
  }

  // Called by the user of `local`, whose cache had no block of the class: the cache gets what the buffer
  // has listed, half of a full cache at most. The thread may run on another CPU by now, and fill that one's:
  // where the blocks are foreign there, a few of them.
  static void refill(lab_type& local, unsigned class_index) {
    const unsigned cpu = stacks_.cpu();
    if (!stacks_.has(cpu)) return;
    note_call(cpu);
    void* batch[most_at_once];
    const unsigned list = local.lists.own_list(class_index), wanted = stacks_.limit(cpu, list) / 2;
    stacks_.raise_limit(cpu, list);
    unsigned count = 0;
    while (count < wanted && (batch[count] = scalloc::try_allocate(local, class_index)) != nullptr)
      mark_free(Life, batch[count++]);
    // The first block of the list is popped first.
    std::reverse(batch, batch + count);
    if (count > 0 &&
        try_again([&] { return stacks_.try_push(list, batch, count); }) != sequence_end::committed)
      flush_blocks(Life, local, class_index, batch, count);
  }

  // Of a CPU; the number of calls that left the fast path there is a hint.
  struct alignas(cache_line_bytes) core_state {
    typename Traits::template atomic<lab_type*> buffer{nullptr};
    typename Traits::template atomic<std::uint32_t> calls{0};
    std::uint32_t seen_calls = 0;  // used under flush_lock_
  };

  // The number of the buffer that the calling thread uses on a CPU, or on an unknown one.
  static unsigned core(unsigned cpu) {
    if (cpu < stacks::cpus) return cpu;
    if (number_ == 0) {
      if (const int processor = sched_getcpu(); processor >= 0)
        Life.pool.see_processor(static_cast<unsigned>(processor));
      number_ = numbered_.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    return (number_ - 1) % Life.pool.columns();
  }

  static void note_call(unsigned cpu) {
    auto& calls = cores_[cpu].calls;
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // Gives a CPU stacks, if it has none. Where there is no memory, it has none.
  static void add_stacks(unsigned cpu) {
    if (stacks_.has(cpu)) return;
    const std::size_t bytes = align_up(stacks::bytes_of_cpu(), os_pages::page_bytes());
    void* const pages = Traits::platform::allocate(bytes, os_pages::page_bytes());
    if (pages != nullptr && !stacks_.add(cpu, pages)) Traits::platform::unmap(pages, bytes);
  }

  template <class Sequence>
  static sequence_end try_again(Sequence sequence) {
    constexpr unsigned attempts = 2;
    sequence_end end = sequence_end::aborted;
    for (unsigned i = 0; i < attempts && end == sequence_end::aborted; ++i) end = sequence();
    return end;
  }

  static sequence_end pop_again(unsigned class_index, void*& block) {
    constexpr unsigned cached_classes = classes::lookup.back();
    if (class_index >= cached_classes || !stacks_.are_possible()) return sequence_end::refused;
    const std::size_t step = classes::step_of(classes::table[class_index].block_bytes);
    return try_again([&] { return stacks_.try_pop_of_step(step, block); });
  }

  // A cache that is full may have more blocks, or half of them leave it together with this one, or all where
  // they are foreign.
  HEAPLAB_OUT_OF_LINE static void push_again(unsigned cpu, unsigned list, void* block) {
    add_stacks(cpu);
    const sequence_end end = try_again([&] { return stacks_.try_push(list, block); });
    if (end == sequence_end::committed) return;
    void* batch[most_at_once + 1];
    unsigned count = 0;
    if (end == sequence_end::refused && stacks_.has(cpu)) {
      note_call(cpu);
      if (stacks_.count(cpu, list) < stacks_.limit(cpu, list) || stacks_.raise_limit(cpu, list))
        if (stacks_.try_push(list, block) == sequence_end::committed) return;
      count = stacks_.limit(cpu, list) / (are_foreign(cpu, list) ? 1 : 2);
      if (count > 0 && stacks_.try_pop(list, batch, count) != sequence_end::committed) count = 0;
    }
    batch[count++] = block;
    flush_to_buffer(list, batch, count);
  }

  // To the lists of the present buffer, or home where another thread holds the buffer's lock.
  static void flush_to_buffer(unsigned list, void* const* blocks, unsigned count) {
    lab_type& local = *buffer();
    if (&local == &none_) return flush_blocks(Life, none_, numbers::class_of[list], blocks, count);
    const use in_use(local, policy::unless_held::yes);
    if (in_use.is_held() && count == 1) return put_in_list(Life, local, list, *blocks);
    flush_blocks(Life, in_use.is_held() ? local : none_, numbers::class_of[list], blocks, count);
  }

  // Whether a free block waits on any CPU.
  static bool is_cached(unsigned class_index, const void* block) {
    bool waits_on_cpu = false;
    numbers::for_each_of(class_index, [&](unsigned list) { waits_on_cpu |= stacks_.holds(list, block); });
    if (waits_on_cpu) return true;
    for (unsigned number = 0; number < std::max(stacks_.end(), Life.pool.columns()); ++number)
      if (lab_type* const local = cores_[number].buffer.load(std::memory_order_acquire)) {
        const use in_use(local);
        if (local->lists.holds(class_index, block)) return true;
      }
    return false;
  }

  static void empty_cache(unsigned cpu, lab_type& local) {
    stacks_.take_all(cpu, [&](unsigned list, void* block) {
      flush_blocks(Life, local, numbers::class_of[list], &block, 1);
    });
  }

  static bool stop_all() {
    if (concurrent::std_sync::is_alone()) return stacks_.stop_alone();
    return has_stopped_others_ && stacks_.stop([](unsigned) { return true; });
  }

  static bool was_idle(core_state& state) {
    const std::uint32_t calls = state.calls.load(std::memory_order_relaxed);
    const bool is_idle = calls == state.seen_calls && state.buffer.load(std::memory_order_acquire) != nullptr;
    state.seen_calls = calls;
    return is_idle;
  }

  static void empty_idle(unsigned cpu) {
    lab_type& local = *cores_[cpu].buffer.load(std::memory_order_acquire);
    if (!local.use_lock.try_lock()) return;
    // The thread that asks for a sweep of holes is this one.
    local.adopts = false;
    empty_cache(cpu, local);
    retire_hot_spans(Life, local);
    local.adopts = true;
    local.use_lock.unlock();
  }

  // From this size on requests take no fast path.
  static constinit inline typename Traits::template atomic<std::size_t> bytes_end_{0};
  static constinit inline stacks stacks_;
  static constinit inline lab_registry<Traits> labs_;
  static constinit inline core_state cores_[stacks::cpus];
  // Of the thread that gives back.
  static constinit inline concurrent::futex_lock<typename Traits::sync> flush_lock_;
  static constinit inline std::int64_t next_look_ = 0;
  static constinit inline bool has_stopped_others_ = false;  // used under flush_lock_

  // How many children of vfork the thread waits for; in a child its own ancestors up to the thread and
  // itself.
  static constinit inline thread_local std::uint32_t children_ = 0;

  // Number threads where there are no restartable sequences, which tell the CPU.
  static constinit inline typename Traits::template atomic<std::uint32_t> numbered_{0};
  static constinit inline thread_local std::uint32_t number_ = 0;

  // Stands for the buffer of a CPU that has none yet, and for whoever frees without a lock. It owns nothing,
  // has no blocks, and is never written.
  static constinit inline lab_type none_;
};

}  // namespace heaplab::scalloc
