// scalloc: a malloc for many threads on many cores (Aigner, Kirsch, Lippautz, Sokolova: OOPSLA 2015).
//
// Blocks of a size class are cut from spans, which lie in one reserved arena. Each thread has a local
// allocation buffer with one hot span for each class, from which it allocates without synchronisation. Other
// threads free into a lock-free list of the span; empty spans go to a global pool; blocks above 1 MiB have
// mappings of their own.
// DESIGN.md has the design in reading order, and where it differs from the paper.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "allocators/scalloc/checked_free.h"
#include "allocators/scalloc/frontend/calling_core.h"
#include "allocators/scalloc/frontend/calling_thread.h"
#include "allocators/scalloc/frontend/freeing.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/idle/hole_sweep.h"
#include "allocators/scalloc/idle/idle_purge.h"
#include "allocators/scalloc/large/large.h"
#include "allocators/scalloc/policy/library_traits.h"
#include "allocators/scalloc/policy/settings.h"
#include "allocators/scalloc/spans/block_checks.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/fatal.h"
#include "base/heap_concept.h"
#include "base/narrow.h"
#include "base/text_line.h"
#include "base/wiped_on_fork.h"
#include "concurrent/futex_lock.h"
#include "concurrent/solo_sections.h"
#include "concurrent/sync.h"

namespace heaplab::scalloc {

template <const config& Config>
class scalloc_heap {
  struct traits : library_traits<Config> {
    // Before an operation that takes locks, by a function that the heap calls from its fast path.
    static bool ensure_open() { return scalloc_heap::ensure_open(); }
    // Called where much memory is retained. False: nobody will purge any (idle_purge.h).
    HEAPLAB_SLOW_PATH static bool ask_for_purge() {
      return tuning_.purges_when_idle && idle_purge_.ask(purge_in_background);
    }
    // Whether the background purge thread purges memory. A hint.
    static bool has_purge_thread() { return idle_purge_.has_purge_thread(); }
    // The background purge thread has work that should not wait (idle_purge.h).
    static void hurry_purge() { idle_purge_.hurry(); }
    // Called before memory grows by up to `bytes` outside the zones of spans (span_pool.h).
    static void purge_for_growth(std::size_t bytes) {
      life_.pool.purge_for_growth(life_.arena, caller::buffer()->column, bytes);
    }
  };
  using classes = typename traits::classes;
  using span_type = span<traits>;

  static constinit inline span_life<traits> life_;
  using caller =
      std::conditional_t<Config.core_caches, calling_core<traits, life_>, calling_thread<traits, life_>>;

public:
  static constexpr const char* name = Config.name;

  HEAPLAB_FAST_PATH static void* allocate(std::size_t bytes) noexcept {
    if (is_looked_up(bytes)) [[likely]]
      if (void* const block = caller::try_allocate(bytes + Config.canary_bytes)) [[likely]]
        return block;
    return allocate_slow<contents::any>(bytes);
  }

  // deallocate takes null, too: null lies in no zone.
  static constexpr bool deallocates_null = true;

  HEAPLAB_FAST_PATH static void deallocate(void* block) noexcept {
    if constexpr (Config.hardened) return checked_free<traits, life_, large_>::deallocate(block);
    if (!caller::try_deallocate(block)) [[unlikely]]
      deallocate_slow(block);
  }

  static void* allocate_zeroed(std::size_t bytes) noexcept {
    if (is_looked_up(bytes)) [[likely]]
      if (void* const block = caller::try_allocate(bytes + Config.canary_bytes)) [[likely]]
        return std::memset(block, 0, bytes);
    return allocate_slow<contents::zeros>(bytes);
  }

  static void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
    const unsigned class_index = classes::index_of_aligned(alignment, bytes + Config.canary_bytes);
    return class_index < classes::count
               ? allocate(classes::table[class_index].block_bytes - Config.canary_bytes)
               : allocate_large(bytes, alignment, contents::any);
  }

  static std::size_t usable_size(void* block) noexcept {
    const span_type* const span = life_.arena.find(block);
    if (span != nullptr) return usable_in_span(*span, block);
    ensure_open();
    return large_.usable_size(block);
  }

  static void check_size(void* block, std::size_t bytes, std::size_t alignment, bool was_resized) noexcept
    requires(Config.hardened)
  {
    const std::size_t usable = usable_size(block);
    const span_type* const span = life_.arena.find(block);
    if (was_resized && bytes <= usable && keeps_large_.load(std::memory_order_relaxed)) return;
    if (!may_be_size_of(span, usable, bytes, alignment, was_resized))
      fatal("freed with a wrong size", block, usable);
  }

  static void* reallocate(void* block, std::size_t bytes) noexcept {
    const span_type* const span = life_.arena.find(block);
    if (span == nullptr) {
      if (bytes > Config.span_request_limit()) return reallocate_large(block, bytes);
    } else {
      // In place, unless too much of the block would be unused.
      const std::size_t usable = usable_in_span(*span, block);
      if (bytes <= usable && (bytes > usable / shrink_divisor || usable <= class_step)) return block;
      if (bytes > usable && bytes <= Config.span_request_limit()) bytes = classes::grown(usable, bytes);
    }
    void* const moved = reallocate_by_copy<scalloc_heap>(block, bytes);
    return moved != nullptr ? moved : keep(block, bytes);
  }

  // Free spans keep memory up to the pad; retained large blocks get the rest of the pad.
  static bool trim(std::size_t pad) noexcept {
    if (!is_in_use()) return false;
    caller::flush();
    bool small = life_.trim(pad);
    small |= holes_.sweep_all();
    return large_.trim(pad - std::min(pad, life_.pool.retained_bytes())) || small;
  }

  // Other threads may be at work: the sums are of slightly different moments.
  HEAPLAB_SLOW_PATH static heap_statistics statistics() noexcept {
    if (!is_in_use()) return {};
    heap_statistics result{.reserved = life_.arena.bytes(),
                           .committed = large_.retained_bytes(),
                           .mapped = large_.live_bytes(),
                           .mappings = large_.count()};
    life_.arena.for_each_span([&result](const span_type& span) {
      const span_word word = span.load_word(std::memory_order_acquire);
      const size_class& kind = span.kind();
      result.committed += span.resident_bytes();
      if (!word.allows(span_event::push)) return;
      const auto live = std::min(narrow<std::uint32_t>(std::max(span.live_blocks(word), 0)), kind.blocks);
      result.live += std::size_t{live} * kind.block_bytes;
      result.free_blocks += kind.blocks - live;
    });
    if constexpr (Config.most_cached > 0)
      caller::for_each_cached([&result](unsigned class_index, unsigned count) {
        const std::size_t bytes = std::size_t{count} * classes::table[class_index].block_bytes;
        result.live -= std::min(result.live, bytes);
        result.free_blocks += count;
      });
    return result;
  }

  // Bytes that trim(0) gives back, but for what threads have at hand. Looks at all free blocks, as trim does.
  HEAPLAB_SLOW_PATH static std::size_t returnable_bytes() noexcept {
    if (!is_in_use()) return 0;
    std::size_t result = large_.retained_bytes();
    life_.arena.for_each_span([&result](const span_type& span) {
      if (span.is_free()) result += span.resident_bytes();
    });
    if constexpr (Config.purges_holes) result += holes_.returnable_bytes();
    return result;
  }

  static void begin_process() noexcept { idle_purge_.begin_process(); }

  static void after_fork_in_child() noexcept {
    process_->lock.forget_holder();
    repair_in_child();
    process_->is_current.store(was_opened_.load(std::memory_order_relaxed), std::memory_order_release);
  }

  // Before an operation that takes locks or changes what threads share. Opens the heap, once. In the child of
  // a fork that ran no handlers (_Fork, clone) repairs the heap, once: to the child, locks of vanished
  // threads are held for ever, and the background purge thread is one of those even where the program had no
  // other. False: the system refuses.
  static bool ensure_open() {
    if (process_->is_current.load(std::memory_order_acquire)) [[likely]]
      return true;
    return enter_process();
  }

  // Called before the process gets a limit of address space, in bytes. The limit would count the arena, and
  // the system would refuse not only blocks but also stacks of threads.
  static void expect_address_space_limit(std::size_t bytes) noexcept {
    if (is_in_use()) shrink_arena_to_fit(bytes);
  }

  // Around vfork (vfork_api.h).
  static void before_vfork() noexcept {
    is_in_use();  // repairs the child of a fork without handlers
    caller::before_vfork();
  }
  static void after_vfork() noexcept { caller::after_vfork(); }

  // Called before the program changes the processors of a thread.
  static void expect_other_processors() noexcept {
    begin_process();
    if (tuning_.purges_when_idle) idle_purge_.note_processors();
  }

  HEAPLAB_SLOW_PATH static void print_statistics(int file) noexcept {
    const auto line = [file](const char* what, std::size_t bytes) {
      text_line().add(Config.name).add(": ").add(what).add(" ").add_decimal(bytes).write_to(file);
    };
    const heap_statistics now = statistics();
    line("address space reserved, bytes:", now.reserved);
    line("memory of spans and freed large blocks, bytes:", now.committed);
    line("live blocks in spans, bytes:", now.live);
    line("memory kept by free spans, bytes:", life_.pool.retained_bytes());
    line("large blocks, bytes:", now.mapped);
    line("large blocks:", now.mappings);
    line("freed large blocks kept, bytes:", large_.retained_bytes());
  }

  static void end_process() noexcept {
    if (tuning_.statistics_at_exit) print_statistics(STDERR_FILENO);
  }

private:
  enum class contents : bool { any, zeros };

  // Whether try_allocate may look a request up in the table of sizes; that of calling_core compares the size
  // itself. Hardened, a request of 0 bytes goes the slow way: 0 - 1 is the largest number.
  HEAPLAB_FAST_PATH static bool is_looked_up(std::size_t bytes) {
    if (Config.core_caches) return true;
    constexpr std::size_t most = traits::classes::lookup_limit - Config.canary_bytes;
    return Config.hardened ? bytes - 1 < most : bytes <= most;
  }

  template <contents Wanted>
  HEAPLAB_OUT_OF_LINE static void* allocate_slow(std::size_t bytes) noexcept {
    if (bytes > PTRDIFF_MAX || !ensure_open()) return nullptr;
    if constexpr (Config.hardened)
      if (bytes == 0)
        if (void* const block = empty_.allocate(life_.arena)) return block;
    if (bytes > Config.span_request_limit()) return allocate_large(bytes, heap_alignment, Wanted);
    const unsigned class_index = classes::index_of(bytes + Config.canary_bytes);
    bool is_zero = false;
    void* const block = caller::allocate_slow(class_index, is_zero, make_room);
    if (block == nullptr) {
      // No span is left, as in a limited address space. A mapping serves instead, aligned as the block of the
      // class would be: to the lowest bit that is set in its size.
      const std::size_t usable = classes::table[class_index].block_bytes;
      return allocate_large(usable, usable & -usable, Wanted);
    }
    if (Wanted == contents::zeros && !is_zero) std::memset(block, 0, bytes);
    return block;
  }

  // Bytes that the program may use. fatal() where no block begins, hardened: where no live block begins.
  static std::size_t usable_in_span(const span_type& span, const void* block) {
    if constexpr (Config.hardened) {
      require_live(span, block);
      if (span.secrets.is_of_guard()) return 0;
    }
    return class_of(span, span.load_word(std::memory_order_acquire), block).block_bytes - Config.canary_bytes;
  }

  static void* allocate_large(std::size_t bytes, std::size_t alignment, contents wanted) {
    const bool zeroed = wanted == contents::zeros;
    void* const block = large_.allocate(bytes, alignment, zeroed);
    return block == nullptr && make_room() ? large_.allocate(bytes, alignment, zeroed) : block;
  }

  static void* reallocate_large(void* block, std::size_t bytes) {
    ensure_open();
    void* const moved = large_.reallocate(block, bytes);
    return moved == nullptr && make_room() ? large_.reallocate(block, bytes) : moved;
  }

  // Called where there is no memory for a block to copy to: a smaller size is no reason to fail. Null: the
  // size is larger.
  HEAPLAB_SLOW_PATH static void* keep(void* block, std::size_t bytes) {
    if (bytes > usable_size(block)) return nullptr;
    if constexpr (Config.hardened) keeps_large_.store(true, std::memory_order_relaxed);
    return life_.arena.find(block) != nullptr ? block : large_.reallocate(block, bytes);
  }

  // Called when the system has refused a mapping. Shrinks the arena if a limit of address space, set after
  // the arena was opened, may be the cause. True: the caller should try again.
  static bool make_room() {
    const std::size_t limit = traits::platform::address_space_limit();
    return limit != SIZE_MAX && shrink_arena_to_fit(limit);
  }

  static bool shrink_arena_to_fit(std::size_t address_space) {
    return life_.arena.shrink(address_space / arena<traits>::address_space_divisor);
  }

  // Frees a block of the coarse zone, of another owner or with a mapping of its own, or refuses the address.
  HEAPLAB_OUT_OF_LINE static void deallocate_slow(void* block) noexcept {
    if (block == nullptr) return;
    ensure_open();
    if (caller::list_again(block)) return;
    span_type* const span = life_.arena.find(block);
    if (span == nullptr) return deallocate_large(block);
    caller::deallocate_slow(*span, block);
  }

  HEAPLAB_OUT_OF_LINE static void deallocate_large(void* block) noexcept { large_.deallocate(block); }

  // Whether there is a heap, which is then as ensure_open() leaves it.
  static bool is_in_use() { return was_opened_.load(std::memory_order_acquire) && ensure_open(); }

  HEAPLAB_SLOW_PATH static bool enter_process() {
    const concurrent::lock_holder hold(process_->lock);
    if (process_->is_current.load(std::memory_order_relaxed)) return true;
    if (was_opened_.load(std::memory_order_relaxed))
      repair_in_child();
    else if (!open())
      return false;
    process_->is_current.store(true, std::memory_order_release);
    return true;
  }

  static void repair_in_child() {
    idle_purge_.after_fork_in_child();
    life_.arena.after_fork_in_child();
    life_.pool.after_fork_in_child();
    concurrent::solo_sections<typename traits::sync>::after_fork_in_child();
    caller::after_fork_in_child();
    holes_.after_fork_in_child();
    large_.after_fork_in_child();
  }

  static bool open() {
    process_.begin();
    begin_process();
    read_environment(tuning_);
    if (!life_.open(tuning_, std::max(Config.pool_columns, 1U))) return false;
    large_.set_retained_limit(tuning_.retained_large_bytes);
    if (tuning_.huge_pages == huge_page_policy::grown) large_.allow_huge_pages();
    caller::open(end_of_thread);
    was_opened_.store(true, std::memory_order_release);
    return true;
  }

  static void end_of_thread(void* buffer) {
    ensure_open();
    caller::end(buffer);
  }

  static int purge_in_background(void* number) {
    idle_purge_.serve(number, idle_work());
    return 0;
  }

  // What the background purge thread does again and again (idle_purge.h): lets retained memory decay, and
  // gives holes back.
  struct idle_work {
    // ms until something may have decayed. The clock lags by up to a step.
    static std::int64_t wait() {
      constexpr std::int64_t clock_step = 10;
      return life_.pool.until_decay(traits::platform::milliseconds()) + clock_step;
    }

    // True if much is left.
    static bool purge() {
      life_.pool.finish_purge_for_growth(life_.arena);
      const std::int64_t now = traits::platform::milliseconds();
      caller::flush_idle(now);
      large_.decay(now);
      bool much = life_.purge_unneeded(now) || large_.retained_bytes() >= Config.idle_purge_bytes;
      if constexpr (Config.purges_holes) much |= holes_.sweep_quiet(now);
      return much;
    }
  };

  static constinit inline part_if<Config.hardened, empty_blocks<traits>> empty_;
  static constinit inline large_blocks<traits> large_{Config.retained_large_bytes};
  static constinit inline hole_sweep<traits> holes_{life_};
  static constinit inline idle_purge<traits> idle_purge_;
  static constinit inline tuning tuning_{Config};
  static constinit inline heaplab::atomic<bool> was_opened_ = false;
  // State of this process, wiped in a child. `lock` is held by enter_process.
  struct process_state {
    heaplab::atomic<bool> is_current = false;
    concurrent::futex_lock<concurrent::std_sync> lock;
  };
  static constinit inline wiped_on_fork<process_state> process_;
  // Hardened: whether realloc has ever left a block in place that is too large for the size, so that a size
  // told to free may be any smaller one. relaxed: the block is handed over after realloc.
  static constinit inline heaplab::atomic<bool> keeps_large_ = false;
};

}  // namespace heaplab::scalloc
