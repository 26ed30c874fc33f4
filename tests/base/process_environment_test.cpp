#include "base/process_environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

namespace heaplab {
namespace {

TEST(process_environment, finds_a_variable_by_its_whole_name) {
  const char* const list[] = {"SIZE_MOST=1", "OTHER", "SIZE=2=3", "SIZE=4", "EMPTY=", nullptr};
  EXPECT_STREQ(variable_in(list, "SIZE"), "2=3");
  EXPECT_STREQ(variable_in(list, "EMPTY"), "");
  EXPECT_EQ(variable_in(list, "OTHER"), nullptr);
  EXPECT_EQ(variable_in(list, "SIZ"), nullptr);
}

TEST(process_environment, lies_behind_the_arguments_on_the_stack) {
  const char* const words[] = {
      reinterpret_cast<const char*>(2), "program", "argument", nullptr, "A=1", nullptr};
  EXPECT_EQ(environment_on(words), words + 4);
}

TEST(process_environment, of_this_process_is_found_on_its_stack) {
  EXPECT_STREQ(variable_in(environment_on(__libc_stack_end), "PATH"), getenv("PATH"));
}

// A program that empties its environment is like one whose C library has none yet.
TEST(process_environment, is_that_of_the_start_where_there_is_none) {
  const std::string path = getenv("PATH");
  char** const before = environ;
  environ = nullptr;
  const char* const found = process_variable("PATH");
  environ = before;
  EXPECT_STREQ(found, path.c_str());
  EXPECT_STREQ(process_variable("PATH"), path.c_str());
}

}  // namespace
}  // namespace heaplab
