// Blocks that go home from the lists of threads against what owners and others do, in every interleaving.
#include "scalloc/explored_scene.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config two_blocks = listing_config<2>(1, 1);
constexpr config four_blocks = listing_config<4>(2, 2);
constexpr config handed_over = handing_over<4>(listing_config<4>(2, 2));

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

// Threads 0 and 1 share the spans of buffer 2: a floating one, blocks 0 to 3, and a hot and dry one.
class free_lists_interleavings_at_home : public explored_scene<handed_over> {
protected:
  void start() {
    heap.reset();
    heap.emplace(4);
    heap->share(2);
    heap->take(0, 8);
    blocks = heap->blocks;
    live = {blocks.begin(), blocks.end()};
  }
  void expect_sound(std::vector<std::function<void()>> threads, const std::function<void()>& before = [] {}) {
    explored_scene::expect_sound([this, before] { start(), before(); }, std::move(threads));
  }
  void abandon_idle(unsigned thread) {
    const home_use in(*heap->labs[thread]);
    in.home.class_to_look_at = heap->class_index;
    heap->life.abandon_idle(in.home);
  }
};

TEST_F(free_lists_interleavings_at_home, two_threads_that_fill_their_lists) {
  expect_sound({[&] { allocate(0), allocate(0), allocate(0); }, [&] { allocate(1); }});
}

TEST_F(free_lists_interleavings_at_home, a_thread_that_fills_its_list_against_blocks_that_go_home) {
  expect_sound({[&] { allocate(0); }, [&] { free(1, 0), free(1, 4), heap->end_thread(1); }});
}

TEST_F(free_lists_interleavings_at_home, blocks_of_the_home_and_of_one_who_does_not_share) {
  expect_sound({[&] { free(0, 0), heap->end_thread(0); }, [&] { free(1, 1), heap->end_thread(1); },
                [&] { free(3, 2), free(3, 3), heap->end_thread(3); }});
}

TEST_F(free_lists_interleavings_at_home, a_block_of_no_list_against_its_span_that_is_handed_over) {
  const auto drain_and_look = [&] {
    free(0, 0), heap->empty_lists(0), allocate(0);
    heap->life.arena.set_list(heap->span_of(blocks[1]), 0);
    abandon_idle(1);
  };
  expect_sound({[&] { free(0, 1); }, [&] { abandon_idle(1); }}, drain_and_look);
}

}  // namespace
}  // namespace heaplab::scalloc::testing
