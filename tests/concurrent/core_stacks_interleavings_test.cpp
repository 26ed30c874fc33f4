// Stacks of one CPU in all interleavings: threads that pop and push there, one that gives the CPU its stacks,
// and one that stops and empties them. The sequences are modelled step by step, with what the kernel
// promises: a sequence that another one on its CPU or a barrier has interrupted changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "concurrent/core_stacks.h"
#include "explore/expect_sound.h"

namespace heaplab::concurrent {
namespace {

using explore::explorer;
using explore::require;

struct small_plan {
  static constexpr unsigned kinds = 1;
  static constexpr std::uint32_t most(unsigned, unsigned) { return 4; }
  static constexpr std::uint32_t first(unsigned, unsigned) { return 4; }
  static constexpr std::array<std::uint8_t, 1> steps(unsigned) { return {0}; }
};

struct explored_system {
  template <class T>
  using atomic = explore::explored_atomic<T>;
  static constexpr unsigned cpus = 4;

  static std::ptrdiff_t area() { return 16; }
  static bool barrier() {
    explorer::running()->point();
    ++interruptions;
    return true;
  }

  static sequence_end pop(const sequence_place& in, void*& block) {
    sequence_under_way sequence(in);
    block = sequence.words[sequence.top()];
    if (block == nullptr) return sequence_end::refused;
    return sequence.commit(static_cast<std::uint16_t>(sequence.top() - 1));
  }
  static sequence_end push(const sequence_place& in, void* block) {
    sequence_under_way sequence(in);
    if (sequence.top() >= sequence.bounds->limit) return sequence_end::refused;
    const auto top = static_cast<std::uint16_t>(sequence.top() + 1);
    point();
    if (sequence.is_interrupted()) return sequence_end::aborted;
    sequence.words[top] = block;
    return sequence.commit(top);
  }

  static inline unsigned interruptions;
  static inline bool is_emptied;

private:
  static void point() {
    if (explorer* const running = explorer::running()) running->point();
  }

  using explored_table = sequence_table<atomic<std::ptrdiff_t>, cpus>;

  struct sequence_under_way {
    explicit sequence_under_way(const sequence_place& in) : begun_(++interruptions) {
      point();
      const auto* const table = static_cast<const explored_table*>(in.table);
      words = std::bit_cast<void**>(std::bit_cast<std::uintptr_t>(table) +
                                    table->of_cpu[0].load(std::memory_order_relaxed));
      bounds = &reinterpret_cast<stacks_head*>(words)->bounds[0];
      point();
      top_ = bounds->top;
    }

    bool is_interrupted() const { return begun_ != interruptions; }
    std::uint16_t top() const { return top_; }
    sequence_end commit(std::uint16_t top) const {
      point();
      if (is_interrupted()) return sequence_end::aborted;
      require(!is_emptied, "a sequence is committed on a CPU that another thread empties");
      bounds->top = top;
      return sequence_end::committed;
    }

    void** words;
    stack_bounds* bounds;

  private:
    const unsigned begun_;
    std::uint16_t top_ = 0;
  };
};

// Planted: the barrier interrupts nobody.
struct system_without_barrier : explored_system {
  static bool barrier() { return true; }
};

template <class System>
class scene {
public:
  using stacks_of_cpu = core_stacks<small_plan, System>;

  void start() {
    memory_.fill(nullptr);
    other_memory_.fill(nullptr);
    stacks.emplace();
    stacks->open();
    places_.fill(place::outside);
    explored_system::interruptions = 0;
    explored_system::is_emptied = false;
  }
  bool add() { return stacks->add(0, memory_.data()); }
  bool add_other() { return stacks->add(0, other_memory_.data()); }

  void push(unsigned block) {
    require(places_[block] == place::outside, "a block is pushed that waits already");
    places_[block] = place::waiting;
    if (stacks->try_push(0, &places_[block]) != sequence_end::committed) places_[block] = place::outside;
  }
  void pop() {
    void* block = nullptr;
    if (stacks->try_pop_of_step(0, block) == sequence_end::committed) take(block);
  }
  // Other threads may run while a block is taken.
  void empty() {
    if (!stacks->stop([](unsigned) { return true; })) return;
    explored_system::is_emptied = true;
    stacks->take_all(0, [this](unsigned, void* block) { explorer::running()->point(), take(block); });
    explorer::running()->point();
    explored_system::is_emptied = false;
    stacks->resume();
  }

  // Each block waits once or is outside, and the stacks are open.
  void check() {
    const auto waiting = std::count(places_.begin(), places_.end(), place::waiting);
    require(stacks->count(0, 0) == static_cast<unsigned>(waiting), "a block is lost or waits twice");
    require(stacks->are_possible(), "pops and pushes are refused for good");
    push(3);
    require(places_[3] == place::waiting, "the stacks stay shut");
  }

  explore::outcome explored(const std::function<void()>& setup, std::vector<std::function<void()>> threads) {
    return explorer({[this, setup] { start(), setup(); }, std::move(threads), [this] { check(); }},
                    {.preemptions = 3})
        .explore();
  }

  std::optional<stacks_of_cpu> stacks;

private:
  enum class place : unsigned char { outside, waiting };

  void take(void* block) {
    require(*static_cast<place*>(block) == place::waiting, "a block is handed out twice");
    *static_cast<place*>(block) = place::outside;
  }

  alignas(8) std::array<void*, stacks_of_cpu::bytes_of_cpu() / sizeof(void*)> memory_, other_memory_;
  std::array<place, 4> places_;
};

scene<explored_system> sound;
scene<system_without_barrier> faulty;

template <class System>
explore::outcome pops_and_pushes_beside_emptying(scene<System>& in) {
  return in.explored([&] { in.add(); }, {[&] { in.push(0), in.push(1), in.pop(), in.push(2); },
                                         [&] { in.empty(), in.empty(); }});
}

TEST(core_stacks_interleavings, of_pops_and_pushes_beside_a_thread_that_empties) {
  explore::expect_sound(pops_and_pushes_beside_emptying(sound));
}

TEST(core_stacks_interleavings, find_that_a_barrier_is_missing) {
  EXPECT_TRUE(pops_and_pushes_beside_emptying(faulty).failed);
}

TEST(core_stacks_interleavings, of_two_threads_on_one_cpu_beside_a_thread_that_empties) {
  explore::expect_sound(sound.explored(
      [] { sound.add(); },
      {[] { sound.push(0), sound.pop(); }, [] { sound.push(1), sound.pop(); }, [] { sound.empty(); }}));
}

TEST(core_stacks_interleavings, of_stacks_that_are_added_beside_a_thread_that_empties) {
  explore::expect_sound(sound.explored([] {}, {[] { sound.add(), sound.push(0), sound.pop(), sound.push(1); },
                                               [] { sound.empty(), sound.empty(); }}));
}

TEST(core_stacks_interleavings, of_stacks_that_two_threads_add) {
  static unsigned added;
  explore::expect_sound(sound.explored([] { added = 0; }, {[] { added += sound.add(), sound.push(0); },
                                                           [] { added += sound.add_other(), sound.push(1); },
                                                           [] {
                                                             sound.empty();
                                                             require(added <= 1, "stacks are added twice");
                                                           }}));
}

// The child of a fork that copies a thread in add() looks at the CPUs below the end.
TEST(core_stacks_interleavings, of_stacks_that_are_added_beside_a_fork) {
  explore::expect_sound(sound.explored([] {}, {[] { sound.add(); },
                                               [] {
                                                 const bool has_stacks = sound.stacks->has(0);
                                                 require(!has_stacks || sound.stacks->end() == 1,
                                                         "a child misses the stacks");
                                               }}));
}

// While one of them lives, no thread begins a sequence.
TEST(core_stacks_interleavings, of_children_of_vfork) {
  static unsigned children;
  const auto live = [] {
    sound.stacks->count_children(1);
    ++children;
    require(!sound.stacks->are_possible(), "a child finds sequences");
    --children;
    sound.stacks->count_children(-1);
  };
  const auto look = [] {
    const bool are_possible = sound.stacks->are_possible();
    require(children == 0 || !are_possible, "a child finds sequences");
  };
  explore::expect_sound(sound.explored(
      [] {
        children = 0;
        sound.add();
      },
      {live, live, look}));
}

}  // namespace
}  // namespace heaplab::concurrent
