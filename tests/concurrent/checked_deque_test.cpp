#include "concurrent/checked_deque.h"

#include <gtest/gtest.h>

#include <deque>

#include "concurrent/sync.h"

namespace heaplab::concurrent {
namespace {

struct element {
  deque_hook<std_sync, element> hook;
};
using list = checked_deque<std_sync, element>;

TEST(checked_deque, gives_back_the_oldest_first) {
  list tested;
  element a, b, c;
  EXPECT_TRUE(tested.looks_empty());
  EXPECT_EQ(tested.take_oldest(), nullptr);
  for (element* const node : {&a, &b, &c}) EXPECT_TRUE(tested.put_newest(*node));
  EXPECT_EQ(tested.oldest(), &a);
  EXPECT_EQ(tested.take_oldest(), &a);
  EXPECT_EQ(tested.take_oldest(), &b);
  EXPECT_EQ(tested.take_oldest(), &c);
  EXPECT_TRUE(tested.looks_empty());
}

TEST(checked_deque, gives_back_the_newest_on_request) {
  list tested;
  element a, b;
  EXPECT_EQ(tested.take_newest(), nullptr);
  for (element* const node : {&a, &b}) EXPECT_TRUE(tested.put_newest(*node));
  EXPECT_EQ(tested.take_newest(), &b);
  EXPECT_EQ(tested.take_newest(), &a);
  EXPECT_TRUE(tested.looks_empty());
}

TEST(checked_deque, refuses_a_node_that_is_in_a_deque) {
  list tested, other;
  element a;
  EXPECT_TRUE(tested.put_newest(a));
  EXPECT_FALSE(tested.put_newest(a));
  EXPECT_FALSE(other.put_newest(a));
  EXPECT_TRUE(tested.contains(a));
  EXPECT_TRUE(other.looks_empty());
}

TEST(checked_deque, removes_only_what_it_holds) {
  list tested, other;
  element a;
  EXPECT_FALSE(tested.remove(a));
  tested.put_newest(a);
  EXPECT_FALSE(other.remove(a));
  EXPECT_TRUE(tested.remove(a));
  EXPECT_FALSE(tested.remove(a));
  EXPECT_TRUE(tested.looks_empty());
  EXPECT_TRUE(other.put_newest(a));
}

TEST(checked_deque, is_valid_while_every_node_knows_its_neighbours) {
  list tested, other;
  element a, b, c;
  EXPECT_TRUE(tested.is_valid());
  for (element* const node : {&a, &b, &c}) tested.put_newest(*node);
  EXPECT_TRUE(tested.is_valid());
  b.hook.in = &other;
  EXPECT_FALSE(tested.is_valid());
  b.hook.in = &tested;
  c.hook.older = &a;
  EXPECT_FALSE(tested.is_valid());
  c.hook.older = &b;
  b.hook.newer = nullptr;
  EXPECT_FALSE(tested.is_valid());
}

// Against std::deque, for every position in every length up to 5.
TEST(checked_deque, removes_from_every_position) {
  for (int length = 1; length <= 5; ++length)
    for (int position = 0; position < length; ++position) {
      list tested;
      element nodes[5];
      std::deque<element*> model;
      for (int i = 0; i < length; ++i) {
        tested.put_newest(nodes[i]);
        model.push_back(&nodes[i]);
      }
      EXPECT_TRUE(tested.remove(nodes[position]));
      model.erase(model.begin() + position);
      EXPECT_TRUE(tested.put_newest(nodes[position]));
      model.push_back(&nodes[position]);
      for (element* const expected : model) EXPECT_EQ(tested.take_oldest(), expected);
      EXPECT_TRUE(tested.looks_empty());
    }
}

}  // namespace
}  // namespace heaplab::concurrent
