// What heaplab's own libraries do about a wrong program: one line that names the pointer, then SIGABRT.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check/contract/api.h"

namespace conformance {

using namespace contract;

namespace {

std::string naming(const void* pointer) {
  char text[64];
  std::snprintf(text, sizeof text, "^heaplab: [^\n]*: %p\n$", pointer);
  return text;
}

// A child does it; its message must name the pointer it passed.
#define EXPECT_REFUSED(statement, pointer) \
  EXPECT_EXIT(statement, testing::KilledBySignal(SIGABRT), naming(pointer))

class misuse_test : public testing::Test {
protected:
  void TearDown() override { std::free(held_); }
  void* held_ = nullptr;
};

void free_twice(void* block) {
  std::free(opaque(block));
  std::free(opaque(block));
}

TEST_F(misuse_test, double_free_of_a_small_block) {
  held_ = std::malloc(100);
  EXPECT_REFUSED(free_twice(held_), held_);
}

TEST_F(misuse_test, double_free_of_a_large_block) {
  held_ = std::malloc(8 << 20);
  EXPECT_REFUSED(free_twice(held_), held_);
}

TEST_F(misuse_test, double_free_of_a_block_with_a_mapping_of_its_own) {
  held_ = std::malloc(80 << 20);
  EXPECT_REFUSED(free_twice(held_), held_);
}

TEST_F(misuse_test, double_free_of_an_aligned_block) {
  held_ = aligned_alloc(4096, 100);
  EXPECT_REFUSED(free_twice(held_), held_);
}

TEST_F(misuse_test, double_free_with_others_between) {
  for (const std::size_t size : {24U, 100U, 1000U, 20'000U, 100'000U})
    for (const unsigned others : {1U, 3U}) {
      void* const block = std::malloc(size);
      std::vector<void*> between(others);
      for (void*& memory : between) memory = std::malloc(size);
      const auto wrong = [&] {
        std::free(opaque(block));
        for (void* const memory : between) std::free(opaque(memory));
        std::free(opaque(block));
      };
      EXPECT_REFUSED(wrong(), block) << size << " after " << others;
      for (void* const memory : between) std::free(memory);
      std::free(block);
    }
}

TEST_F(misuse_test, double_free_by_another_thread_and_then_the_own) {
  for (const std::size_t size : {24U, 100U, 1000U, 20'000U, 100'000U}) {
    void* const block = std::malloc(size);
    void* const other = std::malloc(size);
    const auto wrong = [&] {
      std::thread([&] { std::free(opaque(block)), std::free(opaque(other)); }).join();
      std::free(opaque(block));
    };
    EXPECT_REFUSED(wrong(), block) << size;
    std::free(other);
    std::free(block);
  }
}

// A block that looks free but is live: its contents are those of a block that was freed.
TEST_F(misuse_test, a_copy_of_a_freed_block_may_be_freed) {
  for (const std::size_t size : {24U, 100U, 1000U, 20'000U}) {
    void* const freed = std::malloc(size);
    void* const block = std::malloc(size);
    std::free(opaque(freed));
    std::memcpy(opaque(block), opaque(freed), size);
    std::free(opaque(block));
  }
}

TEST_F(misuse_test, free_of_a_pointer_into_the_stack) {
  char local[64];
  EXPECT_REFUSED(std::free(opaque<void*>(local + 16)), local + 16);
}

TEST_F(misuse_test, free_of_a_pointer_into_static_memory) {
  static char fixed[4096];
  EXPECT_REFUSED(std::free(opaque<void*>(fixed + 64)), fixed + 64);
}

TEST_F(misuse_test, free_of_a_pointer_that_points_nowhere) {
  void* const wild = reinterpret_cast<void*>(std::uintptr_t{0x10});
  EXPECT_REFUSED(std::free(opaque(wild)), wild);
}

TEST_F(misuse_test, free_of_a_misaligned_pointer) {
  held_ = std::malloc(100);
  void* const inside = static_cast<char*>(held_) + 1;
  EXPECT_REFUSED(std::free(opaque(inside)), inside);
}

TEST_F(misuse_test, realloc_of_a_pointer_never_allocated) {
  static char fixed[4096];
  EXPECT_REFUSED(static_cast<void>(opaque(std::realloc(opaque<void*>(fixed + 64), 5000))), fixed + 64);
}

// Crash handlers allocate, though nothing promises them memory; they must not wait for a lock that the
// refused call holds.
void allocate_and_leave(int) {
  for (const std::size_t size : {100U, 100000U, 2U << 20, 40U << 20}) std::free(opaque(std::malloc(size)));
  _exit(11);
}

template <class Wrong>
void with_handler(Wrong wrong) {
  std::signal(SIGABRT, allocate_and_leave);
  alarm(20);
  wrong();
}

TEST_F(misuse_test, of_a_large_block_leaves_the_heap_to_handlers_of_sigabrt) {
  char* const fixed = static_cast<char*>(held_ = std::malloc(8 << 20));
  const auto expect_handled = [](auto wrong) {
    EXPECT_EXIT(with_handler(wrong), testing::ExitedWithCode(11), "");
  };
  expect_handled([=] { free_twice(std::malloc(8 << 20)); });
  expect_handled([=] { free_twice(std::malloc(80 << 20)); });
  expect_handled([=] { std::free(opaque<void*>(fixed + 64)); });
  expect_handled([=] { opaque(std::realloc(opaque<void*>(fixed + 64), 5 << 20)); });
}

}  // namespace
}  // namespace conformance
