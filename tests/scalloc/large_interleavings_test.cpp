// Large blocks in every interleaving with two preemptions: operations on atomics and calls of the system are
// the points at which another thread may go on.
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "allocators/scalloc/large/large.h"
#include "allocators/scalloc/policy/variants.h"
#include "explore/expect_sound.h"
#include "scalloc/traits.h"
#include "support/fake_platform.h"

namespace heaplab::scalloc::testing {
namespace {

using explore::explored_sync;
using explore::require;

// Other threads may run after each system call: only then has the call had its effect.
struct explored_platform : fake_platform {
  // Called before each system call.
  static inline std::function<void()> at_call;
  // What every table gets, if not null.
  static inline void* table = nullptr;

  static auto called(auto call) {
    if (at_call) at_call();
    const auto result = call();
    if (explore::explorer* const running = explore::explorer::running()) running->point();
    return result;
  }
  static void* allocate(std::size_t bytes, std::size_t alignment) {
    return called([&] {
      const bool is_table = bytes == os_pages::page_bytes();
      return is_table && table != nullptr ? table : fake_platform::allocate(bytes, alignment);
    });
  }
  static bool unmap(void* address, std::size_t bytes) {
    return called([&] { return fake_platform::unmap(address, bytes); });
  }
  static void* remap(void* address, std::size_t old_bytes, std::size_t new_bytes) {
    return called([&] { return fake_platform::remap(address, old_bytes, new_bytes); });
  }
  static void* remap_aligned(void* address, std::size_t old_bytes, std::size_t new_bytes,
                             std::size_t alignment) {
    return called([&] { return fake_platform::remap_aligned(address, old_bytes, new_bytes, alignment); });
  }
};

constexpr config knobs = [] {
  config result = standard();
  result.first_registry_entries = 4;  // two blocks
  return result;
}();
// A multiple of every page size.
constexpr std::size_t unit = 64 * kib;

using steps = std::function<void()>;

// Blocks of a few units, each marked with its own number at both ends.
class large_scene {
public:
  ~large_scene() { clear(); }

  void start(std::size_t retained_limit) {
    clear();
    fake_platform::reset();
    heap_.emplace(retained_limit);
  }
  void allocate(unsigned number, std::size_t units) {
    auto* const block = static_cast<char*>(heap_->allocate(units * unit, 16, true));
    require(block != nullptr, "out of memory");
    require(block[0] == 0 && block[units * unit - 1] == 0, "a zeroed block is not zero");
    mark(number, block);
  }
  void free(unsigned number) {
    char* const block = take(number);
    heap_->deallocate(block);
  }
  void resize(unsigned number, std::size_t units) {
    auto* const block = static_cast<char*>(heap_->reallocate(take(number), units * unit));
    require(block != nullptr, "out of memory");
    require(block[0] == static_cast<char>(number), "a resized block has lost its contents");
    mark(number, block);
  }
  void trim() { heap_->trim(0); }
  // As after a long time, by the background purge thread.
  void decay() { heap_->decay(fake_platform::now + 2 * knobs.decay_milliseconds); }
  std::size_t count() { return heap_->count(); }

  void check() {
    require(heap_->is_valid(), "the accounts are wrong");
    require(heap_->count() == blocks_.size(), "the number of live blocks is wrong");
    for (const auto& [number, block] : blocks_) require(is_marked(number, block), "two blocks overlap");
  }

  explore::outcome explored(steps setup, std::vector<steps> threads) {
    return explore::explorer({std::move(setup), std::move(threads), [this] { check(); }}).explore();
  }

private:
  using heap_type = large_blocks<test_traits<explored_sync, knobs, explored_platform>>;

  void clear() {
    if (!heap_) return;
    for (const auto& [number, block] : blocks_) heap_->deallocate(block);
    heap_->trim(0);
    blocks_.clear();
  }

  void mark(unsigned number, char* block) {
    block[0] = block[heap_->usable_size(block) - 1] = static_cast<char>(number);
    blocks_[number] = block;
  }
  bool is_marked(unsigned number, const char* block) {
    return block[0] == static_cast<char>(number) &&
           block[heap_->usable_size(block) - 1] == static_cast<char>(number);
  }
  char* take(unsigned number) {
    char* const block = blocks_.at(number);
    require(is_marked(number, block), "two blocks overlap");
    blocks_.erase(number);
    return block;
  }

  std::optional<heap_type> heap_;
  std::map<unsigned, char*> blocks_;
};

class large_interleavings : public large_scene, public ::testing::Test {
protected:
  void expect_sound(steps setup, std::vector<steps> threads) {
    explore::expect_sound(explored(std::move(setup), std::move(threads)));
  }
};

TEST_F(large_interleavings, two_threads_take_what_one_block_left) {
  expect_sound([&] { start(16 * mib), allocate(1, 8), free(1); },
               {[&] { allocate(2, 4); }, [&] { allocate(3, 4); }});
}

TEST_F(large_interleavings, free_against_allocate_and_trim) {
  expect_sound([&] { start(16 * mib), allocate(1, 4), allocate(2, 6); },
               {[&] { free(1); }, [&] { allocate(3, 4); }, [&] { trim(); }});
}

// While one thread moves a block, others allocate where the block was and free what they have.
TEST_F(large_interleavings, resize_against_others) {
  expect_sound([&] { start(0), allocate(1, 4), allocate(2, 4); },
               {[&] { resize(1, 64); }, [&] { free(2), allocate(3, 4); }});
}

// Both need the registry's first table.
TEST_F(large_interleavings, first_blocks_of_two_threads) {
  expect_sound([&] { start(0); }, {[&] { allocate(1, 4); }, [&] { allocate(2, 4); }});
}

TEST_F(large_interleavings, two_threads_need_a_larger_registry_and_another_frees) {
  expect_sound([&] { start(0), allocate(1, 1), allocate(2, 1); },
               {[&] { allocate(3, 1); }, [&] { allocate(4, 1); }, [&] { free(1); }});
}

// The first thread's table may be too small before it is installed.
TEST_F(large_interleavings, a_registry_outgrows_a_table_that_another_thread_has_mapped) {
  expect_sound([&] { start(0), allocate(1, 1), allocate(2, 1); },
               {[&] { allocate(3, 1); }, [&] { allocate(4, 1), allocate(5, 1), allocate(6, 1); }});
}

TEST_F(large_interleavings, a_larger_registry_while_a_block_moves) {
  expect_sound([&] { start(0), allocate(1, 1), allocate(2, 1); },
               {[&] { resize(1, 64); }, [&] { allocate(3, 1), allocate(4, 1); }});
}

TEST_F(large_interleavings, pages_that_the_system_refuses_to_take) {
  expect_sound(
      [&] {
        start(0), allocate(1, 4), allocate(2, 8);
        fake_platform::refused_unmaps = 2;
      },
      {[&] { free(1), allocate(3, 2); }, [&] { free(2), allocate(4, 4); }});
}

// What was retained for long goes back while others want it.
TEST_F(large_interleavings, decay_against_allocate_and_free) {
  expect_sound([&] { start(16 * mib), allocate(1, 4), allocate(2, 6), free(1); },
               {[&] { decay(); }, [&] { allocate(3, 4); }, [&] { free(2); }});
}

// The explorer reports threads that wait for ever.
TEST_F(large_interleavings, no_lock_is_held_over_a_system_call) {
  const auto setup = [&] {
    explored_platform::at_call = nullptr;
    start(16 * mib);
    for (unsigned number = 1; number <= 4; ++number) allocate(number, 4);
    free(1), free(2);
    explored_platform::at_call = [&] { count(); };
  };
  const steps counts = [&] { count(), count(), count(), count(); };
  const steps outgrows_the_registry = [&] { allocate(5, 4), allocate(6, 4), allocate(7, 4); };
  for (const steps& calls : {steps([&] { decay(); }), steps([&] { trim(); }), steps([&] { resize(3, 64); }),
                             outgrows_the_registry})
    expect_sound(setup, {calls, counts});
  explored_platform::at_call = nullptr;
}

// --- a planted fault: the exploration has to find it ---

// One thread ends the table that another has installed.
TEST_F(large_interleavings, find_pages_that_two_threads_have_for_their_tables) {
  const auto share_tables = [] {
    explored_platform::table = os_pages::allocate(os_pages::page_bytes());
    large_scene scene;
    if (scene
            .explored([&] { scene.start(0); }, {[&] { scene.allocate(1, 4); }, [&] { scene.allocate(2, 4); }})
            .failed)
      std::abort();
  };
  EXPECT_DEATH(share_tables(), "");
}

}  // namespace
}  // namespace heaplab::scalloc::testing
