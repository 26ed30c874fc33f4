// The heap as a whole, without being the malloc of the process.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "allocators/scalloc/policy/variants.h"
#include "allocators/scalloc/scalloc_heap.h"

namespace heaplab::scalloc {
namespace {

constexpr config standard_config = standard();
constexpr config shared_config = clab();
constexpr config cores_config = cores();
constexpr config hardened_config = hardened();

template <class Heap>
class heap_test : public testing::Test {};
using heaps = testing::Types<scalloc_heap<standard_config>, scalloc_heap<shared_config>,
                             scalloc_heap<cores_config>, scalloc_heap<hardened_config>>;
TYPED_TEST_SUITE(heap_test, heaps);

// Under the thread sanitizer: whoever asks for statistics races with nobody.
TYPED_TEST(heap_test, tells_its_statistics_while_others_allocate) {
  std::vector<std::jthread> threads;
  for (unsigned thread = 0; thread < 2; ++thread)
    threads.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested())
        for (const std::size_t size : {40UL, 3000UL, 50'000UL, 600'000UL, 3'000'000UL}) {
          void* blocks[20];
          for (void*& block : blocks) block = TypeParam::allocate(size);
          for (void* const block : blocks) TypeParam::deallocate(block);
        }
    });
  for (unsigned times = 0; times < 200; ++times) {
    const heap_statistics now = TypeParam::statistics();
    EXPECT_LE(now.committed, now.reserved);
    std::this_thread::yield();
  }
}

// --- zeroed blocks ---

// Every byte equals the one before it: a loop over bytes would take the thread sanitizer minutes.
bool is_zero(const void* block, std::size_t bytes) {
  const auto* const first = static_cast<const char*>(block);
  return *first == 0 && std::memcmp(first, first + 1, bytes - 1) == 0;
}

std::size_t resident_pages(void* block, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / os_pages::page_bytes());
  EXPECT_EQ(mincore(block, bytes, pages.data()), 0);
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; }));
}

TYPED_TEST(heap_test, does_not_write_what_is_zero_already) {
  constexpr std::size_t size = std::size_t{1} << 20;
  TypeParam::trim(0);  // what other tests used
  std::vector<void*> blocks(16);
  for (void*& block : blocks) block = TypeParam::allocate_zeroed(size);
  for (void* const block : blocks) {
    EXPECT_LE(resident_pages(block, size), 1U);
    EXPECT_TRUE(is_zero(block, size));
  }
  for (void* const block : blocks) TypeParam::deallocate(block);
}

// Blocks of `size`, of which some were written, freed, and perhaps given back to the system; `pinned` ones
// the system does not take.
template <class Heap>
void expect_zeros_again(std::size_t size, bool trimmed, bool pinned) {
  std::vector<void*> blocks(40);
  for (unsigned round = 0; round < 3; ++round) {
    for (void*& block : blocks) {
      block = round % 2 == 0 ? Heap::allocate_zeroed(size) : Heap::allocate(size);
      EXPECT_TRUE(round % 2 == 1 || is_zero(block, size)) << size;
      std::memset(block, 7, size);
    }
    EXPECT_TRUE(!pinned || mlock(blocks[3], size) == 0);
    for (void* const block : blocks) Heap::deallocate(block);
    if (trimmed) Heap::trim(0);
  }
  for (void*& block : blocks) {
    block = Heap::allocate_zeroed(size);
    ASSERT_TRUE(is_zero(block, size)) << size;
  }
  if (pinned) munlockall();
  for (void* const block : blocks) Heap::deallocate(block);
}

TYPED_TEST(heap_test, clears_what_was_used_before) {
  for (const std::size_t size : {24UL, 3000UL, 6000UL, 10'000UL, 60'000UL, 1'000'000UL})
    for (const bool trimmed : {false, true}) expect_zeros_again<TypeParam>(size, trimmed, false);
}

TYPED_TEST(heap_test, clears_what_the_system_did_not_take_back) {
  for (const std::size_t size : {24UL, 6000UL, 60'000UL}) expect_zeros_again<TypeParam>(size, true, true);
}

TYPED_TEST(heap_test, aligns_blocks_as_asked) {
  std::vector<void*> blocks;
  for (std::size_t alignment = 16; alignment <= 256 * kib; alignment *= 2)
    for (const std::size_t size : {40UL, 1100UL, 5000UL, 6000UL, 9000UL, 12'288UL, 50'000UL, 600'000UL})
      for (unsigned times = 0; times < 3; ++times) {
        blocks.push_back(TypeParam::allocate_aligned(alignment, size));
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back()) % alignment, 0U)
            << alignment << ' ' << size;
        std::memset(blocks.back(), 1, size);
      }
  for (void* const block : blocks) TypeParam::deallocate(block);
}

// The blocks freed first, one of each span, are cached by the hot span.
TEST(heap, standard_keeps_no_cached_blocks_on_trim) {
  using tested = scalloc_heap<standard_config>;
  constexpr std::size_t size = 4096;
  constexpr unsigned spans = 10;
  std::vector<void*> blocks(4 * spans);
  for (void*& block : blocks) std::memset(block = tested::allocate(size), 7, size);
  for (unsigned of_span = 0; of_span < 4; ++of_span)
    for (unsigned span = 0; span < spans; ++span) tested::deallocate(blocks[4 * span + of_span]);
  tested::trim(0);
  std::size_t resident = 0;
  for (void* const block : blocks) resident += resident_pages(block, size);
  EXPECT_LE(resident * os_pages::page_bytes(), standard_config.fine_span_bytes) << "more than the hot span";
}

// A block that was cut from a larger one grows over the guard behind it, which holds what the larger block
// held there.
TEST(heap, hardened_shows_nothing_of_a_freed_block_in_what_realloc_adds) {
  using tested = scalloc_heap<hardened_config>;
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  void* const larger = tested::allocate(10 * mebibyte);
  std::memset(larger, 7, 10 * mebibyte);
  tested::deallocate(larger);
  void* const part = tested::allocate(6 * mebibyte);
  EXPECT_EQ(part, larger);
  void* const grown = tested::reallocate(part, 8 * mebibyte);
  EXPECT_TRUE(is_zero(grown, 8 * mebibyte));
  tested::deallocate(grown);
}

}  // namespace
}  // namespace heaplab::scalloc
