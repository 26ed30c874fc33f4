#include "workloads/speed/chain.h"

#include <gtest/gtest.h>

#include <string>

#include "workloads/harness/usage_error.h"

namespace heaplab::speed {
namespace {

std::string complaint(const std::string& text) {
  try {
    chain read(text);
    return "";
  } catch (const harness::usage_error& error) {
    return error.what();
  }
}

TEST(chain, keeps_the_order_of_its_steps) {
  const chain read("malloc-realloc-free-calloc");
  const std::array expected{step::malloc, step::realloc, step::free, step::calloc};
  ASSERT_EQ(read.steps().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(read.steps()[i], expected[i]);
}

// The twelve of the chapter.
TEST(chain, knows_what_it_needs_and_leaves) {
  const auto expect = [](const char* text, bool needs, bool leaves) {
    const chain read(text);
    EXPECT_EQ(read.needs_object(), needs) << text;
    EXPECT_EQ(read.leaves_object(), leaves) << text;
  };
  expect("malloc", false, true);
  expect("realloc", true, true);
  expect("free", true, false);
  expect("calloc", false, true);
  expect("malloc-free", false, false);
  expect("realloc-free", true, false);
  expect("calloc-free", false, false);
  expect("malloc-realloc", false, true);
  expect("calloc-realloc", false, true);
  expect("malloc-realloc-free", false, false);
  expect("calloc-realloc-free", false, false);
  expect("malloc-realloc-free-calloc", false, true);
}

TEST(chain, refuses_what_cannot_be_done) {
  const std::string rest = " is not malloc, calloc, realloc or free; steps are joined by '-'";
  for (const auto& [text, step] : {std::pair{"", ""},
                                   {"mallo", "mallo"},
                                   {"malloc-", ""},
                                   {"-free", ""},
                                   {"malloc--free", ""},
                                   {"Malloc", "Malloc"},
                                   {"malloc free", "malloc free"}})
    EXPECT_EQ(complaint(text), "the step '" + std::string(step) + "'" + rest) << text;
  EXPECT_EQ(complaint("realloc-malloc"), "step 2 would lose the object of the step before; free it first");
  EXPECT_EQ(complaint("malloc-free-free"), "step 3, free, has no object: the step before freed it");
  EXPECT_EQ(complaint("malloc-free-realloc-free"), "");
}

TEST(chain, has_a_limit) {
  std::string longest = "malloc";
  for (std::size_t i = 1; i < chain::most_steps; ++i) longest += "-realloc";
  EXPECT_EQ(complaint(longest), "");
  EXPECT_EQ(complaint(longest + "-free"), "step 65 is too many");
}

}  // namespace
}  // namespace heaplab::speed
