#include "workloads/acdc/heap_class.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaplab::acdc {
namespace {

constexpr std::uint64_t longest = 4;

// One object a tick, of the liveness given; tells in which ticks it is live and when it expires.
struct life {
  std::vector<std::uint64_t> live;
  std::uint64_t expired = 0;
};

life follow(std::uint64_t liveness, std::uint64_t delay, std::uint64_t born) {
  probes::off_heap_pages pages(4096);
  heap_class heap(pages, longest, delay);
  lifetime_size_class object;
  holding node;
  node.held = &object;
  life seen;
  while (heap.time() < born) heap.advance();
  lifetime_class single;
  single.add(&node);
  heap.insert(single, liveness);
  for (int i = 0; i < 40; ++i) {
    heap.advance();
    heap.for_each_live([&](lifetime_size_class&) { seen.live.push_back(heap.time() - born); });
    if (heap.take_expired().first != nullptr) seen.expired = heap.time() - born;
  }
  return seen;
}

TEST(heap_class, keeps_objects_live_for_their_liveness_and_frees_them_after_the_delay) {
  for (std::uint64_t delay : {0U, 1U, 3U, 9U})
    for (std::uint64_t born : {0U, 1U, 5U, 12U})
      for (std::uint64_t liveness = 1; liveness <= longest; ++liveness) {
        const life seen = follow(liveness, delay, born);
        std::vector<std::uint64_t> expected;
        for (std::uint64_t tick = 1; tick <= liveness; ++tick) expected.push_back(tick);
        EXPECT_EQ(seen.live, expected) << liveness << " " << delay << " " << born;
        EXPECT_EQ(seen.expired, liveness + delay) << liveness << " " << delay << " " << born;
      }
}

TEST(heap_class, never_frees_the_permanent) {
  const life seen = follow(permanent, 2, 0);
  EXPECT_EQ(seen.live.size(), 40U);
  EXPECT_EQ(seen.expired, 0U);
}

TEST(heap_class, gives_back_the_rest_whatever_it_is) {
  probes::off_heap_pages pages(4096);
  heap_class heap(pages, longest, 1);
  std::vector<holding> all(longest + 1);
  for (std::uint64_t liveness = 0; liveness <= longest; ++liveness) {
    lifetime_class single;
    single.add(&all[liveness]);
    heap.insert(single, liveness);
  }
  std::size_t count = 0;
  for (const holding* node = heap.take_rest().first; node != nullptr; node = node->next) ++count;
  EXPECT_EQ(count, all.size());
  EXPECT_EQ(heap.take_rest().first, nullptr);
}

TEST(heap_class, lifetime_class_keeps_the_order_of_what_is_appended) {
  holding a, b, c;
  lifetime_class first;
  lifetime_class second;
  first.append(second);
  EXPECT_EQ(first.first, nullptr);
  first.add(&a);
  second.add(&b);
  second.add(&c);
  first.append(second);
  first.append({});
  EXPECT_EQ(first.first, &a);
  EXPECT_EQ(a.next, &b);
  EXPECT_EQ(b.next, &c);
  EXPECT_EQ(c.next, nullptr);
  EXPECT_EQ(first.last, &c);
}

}  // namespace
}  // namespace heaplab::acdc
