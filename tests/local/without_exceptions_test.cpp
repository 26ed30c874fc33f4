// Compiled with -fno-exceptions and -fno-rtti.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

#include "heaplab/local/local.h"

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "to be compiled with -fno-exceptions and -fno-rtti"
#endif

namespace heaplab::local {
namespace {

TEST(without_exceptions, both_forms_serve_containers) {
  counting_resource upstream;
  multipool_over_monotonic_resource pools({}, upstream);
  std::pmr::map<int, std::pmr::string> names(&pools);
  for (int i = 0; i < 1000; ++i) names[i].assign(100, 'x');
  multipool<counting_resource> typed({}, upstream);
  const std::vector<int, allocator<int, multipool<counting_resource>>> numbers(1000, 1, typed);
  EXPECT_GT(upstream.counts().live_bytes, 100000);
}

TEST(without_exceptions, an_object_may_be_abandoned) {
  monotonic_resource arena;
  auto& names = make_winked<std::pmr::vector<std::pmr::string>>(arena);
  names.emplace_back(100, 'x');
  EXPECT_EQ(names[0].get_allocator().resource(), &arena);
}

TEST(without_exceptions, a_failure_ends_the_program) {
  limiting<> budget({.live_bytes = 100});
  EXPECT_DEATH((void)budget.allocate(101, 1), "terminate");
  multipool<> source;
  allocator<int, multipool<>> numbers(source);
  EXPECT_DEATH((void)numbers.allocate(std::numeric_limits<std::size_t>::max() / 2), "terminate");
}

TEST(without_exceptions, without_rtti_resources_are_equal_only_to_themselves) {
  new_delete_resource first;
  new_delete_resource second;
  EXPECT_TRUE(first.is_equal(first));
  EXPECT_FALSE(first.is_equal(second));
}

}  // namespace
}  // namespace heaplab::local
