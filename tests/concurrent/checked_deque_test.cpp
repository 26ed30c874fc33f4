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
  list it;
  element a, b, c;
  EXPECT_TRUE(it.looks_empty());
  EXPECT_EQ(it.take_oldest(), nullptr);
  for (element* const node : {&a, &b, &c}) EXPECT_TRUE(it.put_newest(*node));
  EXPECT_EQ(it.oldest(), &a);
  EXPECT_EQ(it.take_oldest(), &a);
  EXPECT_EQ(it.take_oldest(), &b);
  EXPECT_EQ(it.take_oldest(), &c);
  EXPECT_TRUE(it.looks_empty());
}

TEST(checked_deque, gives_back_the_newest_on_request) {
  list it;
  element a, b;
  EXPECT_EQ(it.take_newest(), nullptr);
  for (element* const node : {&a, &b}) EXPECT_TRUE(it.put_newest(*node));
  EXPECT_EQ(it.take_newest(), &b);
  EXPECT_EQ(it.take_newest(), &a);
  EXPECT_TRUE(it.looks_empty());
}

TEST(checked_deque, refuses_a_node_that_is_in_a_deque) {
  list it, other;
  element a;
  EXPECT_TRUE(it.put_newest(a));
  EXPECT_FALSE(it.put_newest(a));
  EXPECT_FALSE(other.put_newest(a));
  EXPECT_TRUE(it.contains(a));
  EXPECT_TRUE(other.looks_empty());
}

TEST(checked_deque, removes_only_what_it_holds) {
  list it, other;
  element a;
  EXPECT_FALSE(it.remove(a));
  it.put_newest(a);
  EXPECT_FALSE(other.remove(a));
  EXPECT_TRUE(it.remove(a));
  EXPECT_FALSE(it.remove(a));
  EXPECT_TRUE(it.looks_empty());
  EXPECT_TRUE(other.put_newest(a));
}

TEST(checked_deque, is_valid_while_every_node_knows_its_neighbours) {
  list it, other;
  element a, b, c;
  EXPECT_TRUE(it.is_valid());
  for (element* const node : {&a, &b, &c}) it.put_newest(*node);
  EXPECT_TRUE(it.is_valid());
  b.hook.in = &other;
  EXPECT_FALSE(it.is_valid());
  b.hook.in = &it;
  c.hook.older = &a;
  EXPECT_FALSE(it.is_valid());
  c.hook.older = &b;
  b.hook.newer = nullptr;
  EXPECT_FALSE(it.is_valid());
}

// Against std::deque, for every position in every length up to 5.
TEST(checked_deque, removes_from_every_position) {
  for (int length = 1; length <= 5; ++length)
    for (int position = 0; position < length; ++position) {
      list it;
      element nodes[5];
      std::deque<element*> model;
      for (int i = 0; i < length; ++i) {
        it.put_newest(nodes[i]);
        model.push_back(&nodes[i]);
      }
      EXPECT_TRUE(it.remove(nodes[position]));
      model.erase(model.begin() + position);
      EXPECT_TRUE(it.put_newest(nodes[position]));
      model.push_back(&nodes[position]);
      for (element* const expected : model) EXPECT_EQ(it.take_oldest(), expected);
      EXPECT_TRUE(it.looks_empty());
    }
}

}  // namespace
}  // namespace heaplab::concurrent
