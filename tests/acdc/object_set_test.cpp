#include "workloads/acdc/object_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

#include "workloads/acdc/list_order.h"

namespace heaplab::acdc {
namespace {

// Notes the order of all calls.
class noting_heap {
public:
  ~noting_heap() {
    for (void* block : blocks_) std::free(block);
  }
  void* allocate(std::size_t bytes) {
    sizes.push_back(bytes);
    blocks_.push_back(std::malloc(bytes));
    return blocks_.back();
  }
  void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
    sizes.push_back(bytes);
    blocks_.push_back(std::aligned_alloc(alignment, bytes));
    return blocks_.back();
  }
  void release(void* block) { freed.push_back(number_of(block)); }

  std::size_t number_of(const void* block) const {
    return static_cast<std::size_t>(std::find(blocks_.begin(), blocks_.end(), block) - blocks_.begin());
  }

  std::vector<std::size_t> sizes;
  std::vector<std::size_t> freed;  // by order of allocation

private:
  std::vector<void*> blocks_;
};

object_set set_of(structure shape, std::uint64_t count, std::uint64_t size) {
  return {.first = nullptr, .count = count, .size = size, .key = 0x1234ULL << 48, .shape = shape};
}

std::vector<std::size_t> visited(noting_heap& heap, const object_set& set) {
  std::vector<std::size_t> order;
  walk(set, [&](std::byte* object) { order.push_back(heap.number_of(object)); });
  return order;
}

const placement separate(pseudo_allocator::none);

std::vector<std::size_t> reordered(list_order order, std::uint64_t count) {
  noting_heap heap;
  object_set set = set_of(structure::list, count, 40);
  allocate_objects(heap, set, separate);
  harness::random_stream draw(1);
  reorder(set, order, draw);
  return visited(heap, set);
}

TEST(object_set, visits_every_16th_object_of_a_strided_list) {
  const std::vector<std::size_t> order = reordered(list_order::strided, 36);
  const std::vector<std::size_t> begin{0, 1, 17, 33, 2, 18, 34, 3, 19, 35, 4, 20, 5};
  EXPECT_EQ(std::vector(order.begin(), order.begin() + 13), begin);
  EXPECT_EQ(std::set(order.begin(), order.end()).size(), 36U);
}

TEST(object_set, visits_a_random_list_in_no_order_and_leaves_nothing_out) {
  const std::vector<std::size_t> order = reordered(list_order::random, 1000);
  std::size_t followers = 0;
  for (std::size_t i = 1; i < order.size(); ++i) followers += order[i] == order[i - 1] + 1;
  EXPECT_LT(followers, 10U) << "of 999; one is what random order makes likely";
  EXPECT_EQ(std::set(order.begin(), order.end()).size(), 1000U);
  EXPECT_EQ(order[0], 0U);
}

TEST(object_set, visits_and_frees_a_list_in_the_order_of_allocation) {
  noting_heap heap;
  object_set set = set_of(structure::list, 5, 40);
  allocate_objects(heap, set, separate);
  const std::vector<std::size_t> order{0, 1, 2, 3, 4};
  EXPECT_EQ(heap.sizes, std::vector<std::size_t>(5, 40));
  EXPECT_EQ(visited(heap, set), order);
  release_objects(heap, set, separate);
  EXPECT_EQ(heap.freed, order);
}

// Built 0 (1 (2) (3)) (4 (5) (6)).
TEST(object_set, visits_and_frees_a_tree_in_the_mirrored_order) {
  noting_heap heap;
  object_set set = set_of(structure::tree, 7, 24);
  allocate_objects(heap, set, separate);
  const std::vector<std::size_t> order{0, 4, 6, 5, 1, 3, 2};
  EXPECT_EQ(visited(heap, set), order);
  release_objects(heap, set, separate);
  EXPECT_EQ(heap.freed, order);
}

TEST(object_set, meets_every_object_whatever_their_number) {
  for (const structure shape : {structure::list, structure::tree})
    for (const pseudo_allocator stand_in :
         {pseudo_allocator::none, pseudo_allocator::compact, pseudo_allocator::align})
      for (std::uint64_t count = 1; count < 40; ++count) {
        noting_heap heap;
        object_set set = set_of(shape, count, 17);
        const placement where(stand_in);
        allocate_objects(heap, set, where);
        std::vector<std::byte*> all;
        walk(set, [&](std::byte* object) { all.push_back(object); });
        std::sort(all.begin(), all.end());
        EXPECT_EQ(all.size(), count);
        EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
        release_objects(heap, set, where);
        EXPECT_EQ(heap.freed.size(), where.one_block ? 1 : count);
      }
}

std::vector<std::ptrdiff_t> offsets(const object_set& set) {
  std::vector<std::ptrdiff_t> all;
  walk(set, [&](std::byte* object) { all.push_back(object - set.first); });
  return all;
}

TEST(object_set, lays_out_the_compact_baseline_without_gaps) {
  noting_heap heap;
  object_set list = set_of(structure::list, 4, 17);
  allocate_objects(heap, list, placement(pseudo_allocator::compact));
  EXPECT_EQ(offsets(list), (std::vector<std::ptrdiff_t>{0, 17, 34, 51}));
  object_set tree = set_of(structure::tree, 6, 16);  // children of i: 2i+1 and 2i+2; right first
  allocate_objects(heap, tree, placement(pseudo_allocator::compact));
  EXPECT_EQ(offsets(tree), (std::vector<std::ptrdiff_t>{0, 32, 80, 16, 64, 48}));
  EXPECT_EQ(heap.sizes, (std::vector<std::size_t>{68, 96}));
}

TEST(object_set, gives_every_object_of_the_align_baseline_its_cache_line) {
  noting_heap heap;
  object_set set = set_of(structure::list, 3, 65);
  allocate_objects(heap, set, placement(pseudo_allocator::align));
  EXPECT_TRUE(is_aligned(set.first, cache_line_bytes));
  EXPECT_EQ(offsets(set), (std::vector<std::ptrdiff_t>{0, 128, 256}));
}

TEST(object_set, write_pacer_chooses_the_exact_share) {
  for (const double percent : {0.0, 10.0, 33.0, 50.0, 75.0, 100.0}) {
    write_pacer pacer(percent);
    for (int i = 0; i < 1000; ++i) pacer.next();
    EXPECT_NEAR(static_cast<double>(pacer.written()), percent * 10, 1) << percent;
    EXPECT_EQ(pacer.accessed(), 1000U);
  }
}

// In the original any ratio wrote to all objects of a tree.
TEST(object_set, writes_to_the_chosen_objects_of_lists_and_trees_alike) {
  for (const structure shape : {structure::list, structure::tree}) {
    noting_heap heap;
    object_set set = set_of(shape, 100, 32);
    allocate_objects(heap, set, separate);
    const std::size_t head = shape == structure::list ? list_links : tree_links;
    walk(set, [&](std::byte* object) { std::memset(object + head, 0, 32 - head); });
    write_pacer pacer(25);
    access_objects(set, pacer, 1);
    int written = 0;
    walk(set, [&](std::byte* object) {
      if (object[head + 1] == std::byte{0}) return;
      ++written;
      for (std::size_t i = head; i < 32; ++i) EXPECT_EQ(object[i], static_cast<std::byte>(i - head));
    });
    EXPECT_EQ(written, 25);
  }
}

}  // namespace
}  // namespace heaplab::acdc
