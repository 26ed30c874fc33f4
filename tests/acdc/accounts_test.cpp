// The file of --accounts: an earlier one is there until a whole new one has taken its place.
#include <filesystem>
#include <fstream>

#include "acdc/run_acdc.h"
#include "support/scratch_folder.h"

namespace heaplab::acdc {
namespace {

class accounts_test : public ::testing::Test {
protected:
  accounts_test() { std::ofstream(path_) << "earlier\n"; }

  std::string contents() const { return heaplab::testing::text_of(path_); }

  long files() const {
    const auto found = std::filesystem::directory_iterator(folder_.path);
    return std::distance(begin(found), end(found));
  }

  std::string option() const { return " --accounts " + path_; }

private:
  heaplab::testing::scratch_folder folder_;
  std::string path_ = folder_ / "tables";
};

TEST_F(accounts_test, is_replaced_by_a_whole_new_one) {
  EXPECT_EQ(run_acdc("--ticks 30" + option()).status, 0);
  EXPECT_TRUE(contents().starts_with("tick\tallocated_bytes\t"));
  EXPECT_NE(contents().find("\nlog2_size\tobjects\n"), std::string::npos);
  EXPECT_EQ(files(), 1);
}

TEST_F(accounts_test, is_kept_when_the_run_fails) {
  const auto failed =
      run_acdc("--min-size 208 --max-size 208" + option() + " 2>&1", "LD_PRELOAD=" FAULTY_TWICE);
  EXPECT_NE(failed.status, 0);
  EXPECT_EQ(contents(), "earlier\n");
}

TEST_F(accounts_test, is_kept_when_the_run_is_interrupted) {
  EXPECT_EQ(heaplab::testing::run_command("timeout -s INT 0.3 " ACDC " --ticks 1000000" + option()).status,
            124);
  EXPECT_EQ(contents(), "earlier\n");
  EXPECT_EQ(files(), 1);
}

// A file may not grow beyond one block here: the write fails in the middle, as on a full disk.
TEST_F(accounts_test, is_kept_on_a_full_disk) {
  const auto failed = run_acdc("--ticks 100" + option() + " 2>&1", "trap '' XFSZ; ulimit -f 1;");
  EXPECT_EQ(failed.status, 1);
  EXPECT_EQ(failed.output,
            "acdc: --accounts: writing to '" + option().substr(12) + "' failed: File too large\n");
  EXPECT_EQ(contents(), "earlier\n");
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace heaplab::acdc
