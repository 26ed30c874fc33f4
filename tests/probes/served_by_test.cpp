#include "probes/served_by.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "support/command.h"

namespace heaplab::probes {
namespace {

// The build-id as `readelf` sees it in the file, which is another way to the same bytes.
std::string build_id_of_file(const std::string& path) {
  const auto outcome = testing::run_command("readelf -n '" + path + "' | sed -n 's/.*Build ID: //p'");
  return outcome.output.substr(0, outcome.output.find('\n'));
}

TEST(served_by, names_the_library_and_its_build_id) {
  const loaded_library library = library_of_symbol("getpid");
  EXPECT_TRUE(std::string(library.path).find("libc.so") != std::string::npos) << library.path;
  EXPECT_EQ(library.build_id, build_id_of_file(library.path));
  EXPECT_GE(std::strlen(library.build_id), 32U);
}

TEST(served_by, knows_the_cpp_library_too) {
  const loaded_library library = library_of_symbol(operator_new_symbol);
  EXPECT_TRUE(std::filesystem::exists(library.path)) << library.path;
  EXPECT_EQ(library.build_id, build_id_of_file(library.path));
}

TEST(served_by, is_empty_for_an_unknown_symbol) {
  const loaded_library library = library_of_symbol("no_such_symbol_anywhere");
  EXPECT_STREQ(library.path, "");
  EXPECT_STREQ(library.build_id, "");
}

}  // namespace
}  // namespace heaplab::probes

// A function the program itself exports.
extern "C" [[gnu::visibility("default"), gnu::used]] int heaplab_served_by_test_symbol() {
  return 1;
}

namespace heaplab::probes {
namespace {

TEST(served_by, knows_the_program_itself) {
  const loaded_library library = library_of_symbol("heaplab_served_by_test_symbol");
  EXPECT_EQ(library.path, std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_EQ(library.build_id, build_id_of_file(library.path));
}

}  // namespace
}  // namespace heaplab::probes
