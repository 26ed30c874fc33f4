// Cached blocks of a hot span against frees by other threads, in every interleaving.
#include "scalloc/explored_scene.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config one_cached_block = caching_config<2>(1, 1);

// Thread 0 has one floating span, blocks 0 and 1, and a hot and dry one, blocks 2 and 3. The number of live
// blocks is counted over all spans, cached blocks as blocks of the hot span that came back.
class cached_blocks_interleavings : public explored_scene<one_cached_block> {
protected:
  void expect_sound(std::vector<std::function<void()>> threads, unsigned preemptions = 3) {
    // Two threads that meet nowhere run in both orders.
    explore::expect_sound(explored([this] { start(3, 4); }, std::move(threads), preemptions), 1);
  }
};

TEST_F(cached_blocks_interleavings, a_cached_block_against_the_other_frees_of_its_span) {
  expect_sound({[&] { free(0, 0); }, [&] { free(1, 1); }});
}

TEST_F(cached_blocks_interleavings, a_cached_block_that_is_allocated_against_the_other_frees_of_its_span) {
  expect_sound({[&] { free(0, 0), allocate(0); }, [&] { free(1, 1); }});
}

TEST_F(cached_blocks_interleavings, a_cached_block_against_frees_of_the_hot_span) {
  expect_sound({[&] { free(0, 0), free(0, 3), allocate(0); }, [&] { free(1, 2); }});
}

TEST_F(cached_blocks_interleavings, a_block_that_found_no_room_against_the_last_free) {
  expect_sound({[&] { free(0, 3), free(0, 0); }, [&] { free(1, 1); }});
}

TEST_F(cached_blocks_interleavings, the_retirement_of_the_hot_span) {
  expect_sound(
      {[&] { free(0, 0), allocate(0), allocate(0); }, [&] { free(1, 1); }, [&] { free(2, 2), free(2, 3); }},
      2);
}

TEST_F(cached_blocks_interleavings, cached_blocks_that_are_returned_against_the_last_free) {
  expect_sound({[&] { free(0, 0), heap->front.return_cached_blocks(*heap->labs[0]); }, [&] { free(1, 1); }});
}

TEST_F(cached_blocks_interleavings, the_end_of_a_thread_with_cached_blocks_against_the_last_free) {
  expect_sound({[&] { free(0, 0), heap->end_thread(0); }, [&] { free(1, 1); }});
}

TEST_F(cached_blocks_interleavings, the_next_owner_of_a_span_against_frees_of_the_former) {
  expect_sound({[&] { free(0, 2), allocate(0), free(0, 3); }, [&] { free(1, 0), free(1, 1), allocate(1); }});
}

TEST_F(cached_blocks_interleavings, the_end_of_a_thread_against_the_next_owner_of_its_span) {
  expect_sound({[&] { heap->end_thread(0); }, [&] { free(1, 1), allocate(1), allocate(1); }}, 2);
}

}  // namespace
}  // namespace heaplab::scalloc::testing
