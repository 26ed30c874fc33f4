// Blocks on both sides of 2 and 4 GiB in each heap, with little memory: of a span of scalloc two blocks are
// used, and the rest of its address space is never touched.
#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "allocators/bump/bump_heap.h"
#include "allocators/llheap/variants.h"
#include "allocators/scalloc/policy/variants.h"
#include "allocators/scalloc/scalloc_heap.h"

namespace heaplab {
namespace {

using scalloc::gib, scalloc::kib, scalloc::mib;

constexpr unsigned two_blocks(const scalloc::config&, std::size_t) {
  return 2;
}

constexpr scalloc::config sparse(scalloc::config result) {
  result.arena_bytes = 64 * gib;
  result.coarse_span_bytes = 2 * mib;
  // The map of live blocks would have a byte for 16 bytes of a fine span.
  if (!result.hardened) result.fine_span_bytes = 2 * mib;
  result.blocks_in_span = two_blocks;
  result.span_header_bytes = 0;  // two of the largest blocks fill a span
  return result;
}
constexpr scalloc::config sparse_standard = sparse(scalloc::standard());
constexpr scalloc::config sparse_hardened = sparse(scalloc::hardened());
constexpr scalloc::config sparse_cores = sparse(scalloc::cores());
constexpr scalloc::config sparse_paper = sparse(scalloc::paper());

// So many blocks of such sizes lie in a range of more than 4 GiB.
template <const scalloc::config& Config>
struct of_scalloc : scalloc::scalloc_heap<Config> {
  static constexpr std::size_t sizes[] = {Config.hardened ? 12 * kib : 1 * kib, 16 * kib};
  static constexpr std::size_t blocks = 2 * 9 * gib / Config.coarse_span_bytes, range = 9 * gib;
  // Of a hardened heap blocks in quarantine count as live.
  static constexpr bool counts_live_bytes = !Config.hardened, moves_pages = true;
};
struct of_llheap : llheap::heap_for<llheap::plain> {
  static constexpr std::size_t sizes[] = {1 * mib}, blocks = 5 * kib, range = 5 * gib;
  static constexpr bool counts_live_bytes = false, moves_pages = true;
};
struct of_bump : bump::bump_heap {
  static constexpr std::size_t sizes[] = {1 * mib}, blocks = 5 * kib, range = 5 * gib;
  static constexpr bool counts_live_bytes = false, moves_pages = false;
};

template <class Heap>
std::size_t live_bytes() {
  return Heap::statistics().live + Heap::statistics().mapped;
}

template <class Heap>
class heaps : public testing::Test {};
using all_heaps = testing::Types<of_scalloc<sparse_standard>, of_scalloc<sparse_hardened>,
                                 of_scalloc<sparse_cores>, of_scalloc<sparse_paper>, of_llheap, of_bump>;
TYPED_TEST_SUITE(heaps, all_heaps);

// Live blocks of one size, each of which holds its own address.
template <class Heap>
class far_blocks {
public:
  explicit far_blocks(std::size_t size) : size_(size), live_before_(live_bytes<Heap>()) {}

  // Returns whether no live block was handed out again.
  bool add() {
    auto* const block = static_cast<char*>(Heap::allocate(size_));
    if (block == nullptr) throw std::bad_alloc();
    std::memcpy(block + stamp_at, &block, sizeof block);
    return live_.insert(block).second;
  }

  std::size_t range() const { return static_cast<std::size_t>(*live_.rbegin() - *live_.begin()); }

  // Takes every second block, up to `most`, and the first block so far above it or farther, out of those that
  // are live.
  std::vector<char*> take_pairs(std::size_t distance, std::size_t most) {
    std::vector<char*> pairs;
    std::set<char*> left = live_;
    for (auto lower = left.begin(); lower != left.end() && pairs.size() < 2 * most; ++lower) {
      const auto upper = left.lower_bound(*lower + distance);
      if (upper == left.end()) break;
      pairs.insert(pairs.end(), {*upper, *lower});
      left.erase(upper);
      left.erase(lower++);
      if (lower == left.end()) break;
    }
    for (char* const block : pairs) live_.erase(block);
    return pairs;
  }

  void free_all() {
    for (char* const block : live_) Heap::deallocate(block);
    live_.clear();
  }

  void check() const {
    std::size_t bytes = 0;
    for (char* const block : live_) {
      ASSERT_EQ(std::memcmp(block + stamp_at, &block, sizeof block), 0) << "a block has lost its contents";
      bytes += Heap::usable_size(block);
    }
    if (Heap::counts_live_bytes) {
      EXPECT_EQ(live_bytes<Heap>() - live_before_, bytes);
    }
  }

private:
  // Behind what a heap writes into a free block.
  static constexpr std::size_t stamp_at = 16;

  std::size_t size_, live_before_;
  std::set<char*> live_;
};

template <class Heap>
void deallocate(const std::vector<char*>& blocks) {
  for (char* const block : blocks) Heap::deallocate(block);
}

TYPED_TEST(heaps, hand_no_block_out_twice_when_spans_far_apart_are_freed_in_turn) {
  for (const std::size_t size : TypeParam::sizes) {
    far_blocks<TypeParam> blocks(size);
    for (std::size_t count = TypeParam::blocks; count > 0; --count) ASSERT_TRUE(blocks.add());
    ASSERT_GE(blocks.range() + size, TypeParam::range - 2 * mib);
    for (const std::size_t distance : {2 * gib, 4 * gib, TypeParam::range - 1 * gib})
      for (const bool by_another_thread : {false, true}) {
        const std::vector<char*> pairs = blocks.take_pairs(distance, 200);
        ASSERT_GT(pairs.size(), 100U) << distance;
        if (by_another_thread)
          std::thread(deallocate<TypeParam>, pairs).join();
        else
          deallocate<TypeParam>(pairs);
        for (std::size_t count = pairs.size(); count > 0; --count)
          ASSERT_TRUE(blocks.add()) << distance << " bytes apart";
        blocks.check();
      }
    blocks.free_all();
  }
}

TYPED_TEST(heaps, have_blocks_around_2_and_4_gib) {
  for (const std::size_t size : {2 * gib - 1, 2 * gib + 1, 4 * gib - 1, 4 * gib + 1, 6 * gib}) {
    const std::size_t live_before = live_bytes<TypeParam>();
    auto* const block = static_cast<char*>(TypeParam::allocate_zeroed(size));
    if (block == nullptr) GTEST_SKIP() << "the system refuses " << size << " bytes";
    EXPECT_GE(TypeParam::usable_size(block), size);
    EXPECT_GE(live_bytes<TypeParam>(), live_before + size);
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      EXPECT_EQ(block[at], 0);
      block[at] = static_cast<char>(at % 100 + 1);
    }
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) EXPECT_EQ(block[at], at % 100 + 1);
    TypeParam::deallocate(block);
  }
}

TYPED_TEST(heaps, resize_blocks_across_4_gib) {
  constexpr std::size_t small = 2 * mib;
  void* block = TypeParam::allocate(small);
  std::memset(block, 7, small);
  for (const std::size_t size : {TypeParam::moves_pages ? 3 * gib : 5 * gib, 5 * gib, small}) {
    block = TypeParam::reallocate(block, size);
    if (block == nullptr) GTEST_SKIP() << "the system refuses " << size << " bytes";
    EXPECT_GE(TypeParam::usable_size(block), size);
    const auto* const bytes = static_cast<const char*>(block);
    for (std::size_t at = 0; at < small; at += 1 * kib) ASSERT_EQ(bytes[at], 7);
  }
  TypeParam::deallocate(block);
}

}  // namespace
}  // namespace heaplab
