#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "check/children.h"
#include "check/run_threads.h"
#include "heaps.h"

namespace heaplab::llheap {
namespace {

template <class Heap>
class threads_test : public testing::Test {};
TYPED_TEST_SUITE(threads_test, all_heaps);

TEST(threads, a_block_freed_elsewhere_comes_home) {
  std::vector<void*> blocks;
  for (int i = 0; i < 50; ++i) blocks.push_back(small_heap::allocate(3000));
  in_another_thread([&] {
    for (void* block : blocks) {
      EXPECT_TRUE(small_heap::is_remote(block));
      small_heap::deallocate(block);
    }
    void* const mine = small_heap::allocate(3000);
    EXPECT_FALSE(small_heap::is_remote(mine));
    EXPECT_EQ(std::count(blocks.begin(), blocks.end(), mine), 0);
    small_heap::deallocate(mine);
  });
  std::vector<void*> again;
  for (int i = 0; i < 50; ++i) {
    again.push_back(small_heap::allocate(3000));
    EXPECT_FALSE(small_heap::is_remote(again.back()));
  }
  EXPECT_TRUE(std::is_permutation(blocks.begin(), blocks.end(), again.begin()));
  for (void* block : again) small_heap::deallocate(block);
}

TEST(threads, without_ownership_a_block_stays_with_the_thread_that_freed_it) {
  void* const block = small_without_ownership::allocate(3000);
  in_another_thread([&] {
    void* const own = small_without_ownership::allocate(10);
    small_without_ownership::deallocate(block);
    EXPECT_EQ(small_without_ownership::allocate(3000), block);
    EXPECT_FALSE(small_without_ownership::is_remote(block));
    small_without_ownership::deallocate(own);
  });
  EXPECT_TRUE(small_without_ownership::is_remote(block));
  small_without_ownership::deallocate(block);
}

TYPED_TEST(threads_test, a_thread_whose_first_call_is_free_sends_the_block_home) {
  void* const block = TypeParam::allocate(7000);
  const auto heaps_before = TypeParam::storage().counts().heaps_new;
  in_another_thread([&] { TypeParam::deallocate(block); });
  // Who counts, or keeps what it frees, needs a heap for that.
  if (!TypeParam::settings.statistics && TypeParam::settings.ownership) {
    EXPECT_EQ(TypeParam::storage().counts().heaps_new, heaps_before);
  }
  // Behind whatever other blocks of this size this thread has.
  std::vector<void*> mine;
  do mine.push_back(TypeParam::allocate(7000));
  while (mine.back() != block && mine.size() < 10'000);
  EXPECT_EQ(mine.back(), block);
  for (void* each : mine) TypeParam::deallocate(each);
}

TYPED_TEST(threads_test, the_heap_of_an_ended_thread_is_taken_over_as_it_is) {
  void* kept = nullptr;
  void* freed_block = nullptr;
  in_another_thread([&] {
    kept = TypeParam::allocate(9000);
    std::memset(kept, 6, 9000);
    freed_block = TypeParam::allocate(9000);
    TypeParam::deallocate(freed_block);
  });
  const storage_counts before = TypeParam::storage().counts();
  in_another_thread([&] {
    EXPECT_EQ(TypeParam::allocate(9000), freed_block);
    EXPECT_FALSE(TypeParam::is_remote(kept));
    EXPECT_EQ(bytes(kept)[8999], 6);
    TypeParam::deallocate(kept);
    TypeParam::deallocate(freed_block);
  });
  const storage_counts after = TypeParam::storage().counts();
  EXPECT_EQ(after.heaps_new, before.heaps_new);
  EXPECT_EQ(after.heaps_reused, before.heaps_reused + 1);
  EXPECT_EQ(after.carved_bytes, before.carved_bytes);
}

TYPED_TEST(threads_test, threads_one_after_the_other_need_one_heap) {
  in_another_thread([] { TypeParam::deallocate(TypeParam::allocate(10)); });
  const storage_counts before = TypeParam::storage().counts();
  for (int i = 0; i < 200; ++i) in_another_thread([] { TypeParam::deallocate(TypeParam::allocate(10)); });
  EXPECT_EQ(TypeParam::storage().counts().heaps_new, before.heaps_new);
  EXPECT_EQ(TypeParam::storage().counts().carved_bytes, before.carved_bytes);
}

// Allocates in a destructor that runs after the heap's own, as glibc and libraries do: keys are served in
// the order of their creation.
template <class Heap>
void allocates_at_the_very_end() {
  Heap::deallocate(Heap::allocate(64));
  static bool heap_was_gone;
  pthread_key_t key;
  pthread_key_create(&key, [](void* block) {
    heap_was_gone = Heap::is_remote(block);
    Heap::deallocate(block);
    Heap::deallocate(Heap::allocate(64));
  });
  in_another_thread([&] { pthread_setspecific(key, Heap::allocate(64)); });
  EXPECT_TRUE(heap_was_gone);
  const auto heaps = Heap::storage().counts().heaps_new;
  in_another_thread([&] { pthread_setspecific(key, Heap::allocate(64)); });
  EXPECT_EQ(Heap::storage().counts().heaps_new, heaps);
  pthread_key_delete(key);
}

TYPED_TEST(threads_test, a_late_destructor_may_allocate) {
  allocates_at_the_very_end<TypeParam>();
}

// Every thread allocates, passes blocks on through shared slots, and frees what it finds there.
TYPED_TEST(threads_test, blocks_wander_between_threads_unharmed) {
  constexpr int thread_count = 4, rounds = 20'000, slot_count = 64;
  static std::atomic<unsigned char*> slots[slot_count];
  const auto check_and_free = [](unsigned char* block) {
    if (block == nullptr) return;
    const std::size_t size = TypeParam::request_size(block);
    ASSERT_EQ(block[0], size % 251);
    ASSERT_EQ(block[size - 1], size % 251);
    TypeParam::deallocate(block);
  };
  check::run_threads(thread_count, [&](unsigned id) {
    std::minstd_rand random(id + 1);
    for (int i = 0; i < rounds; ++i) {
      std::size_t size = 1 + random() % (random() % 32 == 0 ? 100'000 : 600);
      void* block = random() % 4 == 0 ? TypeParam::allocate_aligned(128, size) : TypeParam::allocate(size);
      if (random() % 8 == 0) block = TypeParam::reallocate(block, size = 1 + size * 2 / 3);
      bytes(block)[0] = bytes(block)[size - 1] = static_cast<unsigned char>(size % 251);
      check_and_free(slots[random() % slot_count].exchange(bytes(block)));
    }
  });
  for (auto& slot : slots) check_and_free(slot.exchange(nullptr));
}

// Threads start and end all the time and leave blocks to be freed by others.
TYPED_TEST(threads_test, heaps_change_hands_while_their_blocks_are_freed) {
  static std::atomic<void*> left_behind;
  for (int round = 0; round < 100; ++round)
    check::run_threads(3, [](unsigned) {
      for (int i = 0; i < 30; ++i) {
        void* const mine = TypeParam::allocate(200);
        if (void* const other = left_behind.exchange(mine)) TypeParam::deallocate(other);
      }
    });
  if (void* const last = left_behind.exchange(nullptr)) TypeParam::deallocate(last);
}

#ifndef __SANITIZE_THREAD__  // its run-time does not support threads after a fork of many
// What a lost thread may have been in the middle of changing is not relied on; its heap is.
TYPED_TEST(threads_test, a_child_takes_over_the_heap_of_a_lost_thread_without_its_free_blocks) {
  in_another_thread([] { TypeParam::deallocate(TypeParam::allocate(9000)); });
  std::atomic<void*> freed_block = nullptr;
  std::atomic<bool> stop = false;
  void* kept = nullptr;
  std::thread lost([&] {
    kept = TypeParam::allocate(100);
    void* const block = TypeParam::allocate(9000);
    TypeParam::deallocate(block);
    freed_block = block;
    while (!stop) std::this_thread::yield();
  });
  while (freed_block == nullptr) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    TypeParam::after_fork_in_child();
    const auto heaps = TypeParam::storage().counts().heaps_new;
    // Heaps of earlier tests wait for threads, too: each thread holds one while the next takes another.
    bool given_again = false;
    const std::function<bool(unsigned)> is_taken_over = [&](unsigned most) {
      bool found = false;
      in_another_thread([&] {
        given_again = given_again || TypeParam::allocate(9000) == freed_block;
        found = !TypeParam::is_remote(kept) || (most > 1 && is_taken_over(most - 1));
      });
      return found;
    };
    const bool taken_over = is_taken_over(20);
    _exit(taken_over && !given_again && TypeParam::storage().counts().heaps_new == heaps ? 0 : 1);
  }
  EXPECT_EQ(check::status_of(child), 0);
  stop = true;
  lost.join();
}

// The child goes on in the middle of everybody's work, with all heaps usable.
TYPED_TEST(threads_test, a_child_of_a_busy_process_can_allocate) {
  std::atomic<int> at_work = 0;
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(TypeParam::allocate(500));
  std::vector<std::jthread> busy;
  for (int id = 0; id < 2; ++id)
    busy.emplace_back([&](const std::stop_token& stop) {
      TypeParam::deallocate(TypeParam::allocate(500));
      ++at_work;
      while (!stop.stop_requested()) {
        void* some[20];
        for (void*& block : some) block = TypeParam::allocate(500);
        for (void* block : some) TypeParam::deallocate(block);
        TypeParam::deallocate(TypeParam::allocate(5 * mib));
      }
    });
  while (at_work < 2) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      TypeParam::after_fork_in_child();
      const auto heaps = TypeParam::storage().counts().heaps_new;
      for (void* block : blocks) TypeParam::deallocate(block);
      for (int round = 0; round < 3; ++round)
        in_another_thread([] {
          for (int n = 0; n < 2000; ++n) TypeParam::deallocate(TypeParam::allocate(500));
          for (int n = 0; n < 2000; ++n) std::memset(TypeParam::allocate(500), 1, 500);
        });
      _exit(TypeParam::storage().counts().heaps_new == heaps ? 0 : 1);
    }
    EXPECT_EQ(check::status_of(child), 0);
  }
  busy.clear();
  for (void* block : blocks) TypeParam::deallocate(block);
}
#endif

}  // namespace
}  // namespace heaplab::llheap
