// The live map and the encoded links of scalloc-hardened, in every interleaving.
#include "scalloc/explored_scene.h"

namespace heaplab::scalloc::testing {
namespace {

using explore::explored_sync;

constexpr config two_blocks = hardened_config<2>();

// Of two threads that free a block at once, one is told that the block was not live.
template <class Sync>
explore::outcome two_frees_of_one_block() {
  std::optional<live_map<test_traits<Sync, two_blocks>>> map;
  unsigned refused = 0;
  const auto setup = [&] {
    map.emplace();
    map->begin(3);
    refused = 0;
  };
  const auto free = [&] { refused += map->end(3) ? 0U : 1U; };
  const auto check = [&] { require(refused == 1, "a double free was not refused"); };
  return explore::explorer({setup, {free, free}, check}, {.preemptions = 3}).explore();
}

TEST(hardened_interleavings, one_of_two_frees_of_a_block_is_refused) {
  explore::expect_sound(two_frees_of_one_block<explored_sync>(), 1);
}

// An exchange that looks, and then writes whatever has happened meanwhile.
struct torn_sync : explored_sync {
  template <class T>
  struct atomic : explore::explored_atomic<T> {
    using explore::explored_atomic<T>::explored_atomic;
    T exchange(T wanted, std::memory_order = {}) {
      const T seen = this->load();
      this->store(wanted);
      return seen;
    }
  };
};

TEST(hardened_interleavings, find_the_torn_exchange) {
  EXPECT_TRUE(two_frees_of_one_block<torn_sync>().failed);
}

using hardened_interleavings_two_blocks = explored_scene<two_blocks>;

// The owner frees, takes the remote list back and allocates while others free blocks of the span: no
// block is handed out while the map says that it is live, and no link is damaged.
TEST_F(hardened_interleavings_two_blocks, remote_frees_against_the_owner) {
  expect_sound([&] { start(2, 4); },
               {[&] { free(0, 2), allocate(0), allocate(0); }, [&] { free(1, 3), free(1, 0); }});
}

// The same where another thread gives blocks of the owner's span back together, and then ends.
TEST_F(hardened_interleavings_two_blocks, a_batch_against_the_owner) {
  const auto other = [&] {
    for (const unsigned index : {0U, 1U, 2U}) live.erase(blocks[index]);
    heap->free_together(1, {blocks[0], blocks[1], blocks[2]});
    heap->end_thread(1);
  };
  expect_sound([&] { start(2, 4); }, {[&] { free(0, 3), allocate(0), allocate(0); }, other});
}

// What two threads that free a block at the same instant may leave behind: the block is in the list, and
// live.
TEST(hardened_interleavings, a_block_in_two_lists_is_handed_out_once) {
  small_heap<explored_sync, two_blocks> heap(1);
  void* const block = heap.allocate(0);
  heap.free(0, block);
  heap.span_of(block).live.begin(heap.span_of(block).secrets.granule_of(block));
  EXPECT_DEATH(heap.allocate(0), "a live block was about to be handed out again .block of 256 bytes.: 0x");
}

}  // namespace
}  // namespace heaplab::scalloc::testing
