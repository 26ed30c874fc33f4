// A small heap and the blocks its threads share, made anew for every run of an exploration.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "explore/expect_sound.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {

template <class Sync, const config& Config, class Platform = system_platform>
struct scene_of {
  std::optional<small_heap<Sync, Config, Platform>> heap;
  std::vector<void*> blocks;
  std::set<void*> live;

  // Thread 0 has `filled` blocks, from as many spans as it takes.
  void start(unsigned threads, unsigned filled) {
    heap.reset();
    heap.emplace(threads);
    heap->take(0, filled);
    blocks = heap->blocks;
    live = {blocks.begin(), blocks.end()};
  }
  void free(unsigned thread, unsigned index) {
    live.erase(blocks[index]);
    heap->free(thread, blocks[index]);
  }
  void allocate(unsigned thread) { live.insert(heap->allocate(thread)); }

  explore::outcome explored(std::function<void()> setup, std::vector<std::function<void()>> threads,
                            unsigned preemptions = 2) {
    return explore::explorer({std::move(setup), std::move(threads), [this] { heap->check(live); },
                              [this] { heap->check_step(live); }},
                             {.preemptions = preemptions})
        .explore();
  }
};

template <const config& Config, class Platform = system_platform>
class explored_scene : public scene_of<explore::explored_sync, Config, Platform>, public ::testing::Test {
protected:
  void expect_sound(std::function<void()> setup, std::vector<std::function<void()>> threads,
                    unsigned preemptions = 2) {
    explore::expect_sound(this->explored(std::move(setup), std::move(threads), preemptions));
  }
};

}  // namespace heaplab::scalloc::testing
