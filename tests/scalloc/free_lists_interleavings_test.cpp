// Blocks that go home from the lists of threads against what owners and others do, in every interleaving.
#include "scalloc/explored_scene.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config two_blocks = listing_config<2>(1, 1);
constexpr config four_blocks = listing_config<4>(2, 2);

// Each second free of a thread sends a block home. Thread 0 has one floating span, blocks 0 and 1, and a hot
// and dry one, blocks 2 and 3.
class free_lists_interleavings : public explored_scene<two_blocks> {
protected:
  void expect_sound(std::vector<std::function<void()>> threads, unsigned preemptions = 3) {
    // Two threads that meet nowhere run in both orders.
    explore::expect_sound(explored([this] { start(3, 4); }, std::move(threads), preemptions), 1);
  }
};

TEST_F(free_lists_interleavings, the_owners_block_against_the_other_one_of_its_span) {
  expect_sound({[&] { free(0, 0), free(0, 2); }, [&] { free(1, 1), free(1, 3); }});
}

TEST_F(free_lists_interleavings, blocks_of_two_threads_that_own_nothing) {
  expect_sound({[&] { free(1, 0), free(1, 2); }, [&] { free(2, 1), free(2, 3); }});
}

TEST_F(free_lists_interleavings, a_block_that_another_thread_hands_out_again) {
  expect_sound({[&] { free(0, 0), allocate(0); }, [&] { free(1, 1), allocate(1), free(1, 3); }});
}

TEST_F(free_lists_interleavings, blocks_of_the_hot_span_against_its_retirement) {
  expect_sound({[&] { allocate(0), allocate(0), allocate(0); }, [&] { free(1, 2), free(1, 3), free(1, 0); }},
               2);
}

TEST_F(free_lists_interleavings, the_end_of_the_owner_against_blocks_that_go_home) {
  expect_sound({[&] { free(0, 0), heap->end_thread(0); }, [&] { free(1, 1), free(1, 2); }}, 2);
}

TEST_F(free_lists_interleavings, the_end_of_two_threads) {
  expect_sound({[&] { free(0, 0), heap->end_thread(0); }, [&] { free(1, 1), heap->end_thread(1); }}, 2);
}

TEST_F(free_lists_interleavings, the_end_of_the_owner_against_the_next_one) {
  expect_sound({[&] { heap->end_thread(0); }, [&] { free(1, 1), free(1, 0), allocate(1), allocate(1); }}, 2);
}

// Chains of several blocks. Thread 0 has a floating span, blocks 0 to 3, and a hot and dry one, blocks 4
// to 7.
class free_lists_interleavings_of_chains : public explored_scene<four_blocks> {
protected:
  void expect_sound(std::vector<std::function<void()>> threads, unsigned preemptions = 2) {
    explore::expect_sound(explored([this] { start(3, 8); }, std::move(threads), preemptions), 1);
  }
};

TEST_F(free_lists_interleavings_of_chains, the_last_chains_of_a_span_by_owner_and_another) {
  expect_sound({[&] { free(0, 0), free(0, 1), heap->end_thread(0); },
                [&] { free(1, 2), free(1, 3), heap->end_thread(1); }});
}

TEST_F(free_lists_interleavings_of_chains, a_chain_against_the_owner_that_takes_all) {
  expect_sound({[&] { allocate(0), allocate(0), allocate(0); }, [&] { free(1, 4), free(1, 5), free(1, 6); }});
}

TEST_F(free_lists_interleavings_of_chains, two_chains_against_the_owner_that_takes_all) {
  expect_sound({[&] { allocate(0), allocate(0); }, [&] { free(1, 4), free(1, 5), heap->end_thread(1); },
                [&] { free(2, 6), free(2, 7), heap->end_thread(2); }},
               1);
}

TEST_F(free_lists_interleavings_of_chains, chains_of_two_spans_against_the_end_of_their_owner) {
  expect_sound({[&] { heap->end_thread(0); },
                [&] {
                  free(1, 0), free(1, 4), free(1, 1);
                  free(1, 5), heap->end_thread(1);
                }});
}

}  // namespace
}  // namespace heaplab::scalloc::testing
