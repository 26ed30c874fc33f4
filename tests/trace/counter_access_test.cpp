#include "trace/finish/counter_access.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/scratch_folder.h"

namespace heaplab::trace {
namespace {

// The files of a system that tell about its counters.
class counter_access : public ::testing::Test {
protected:
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  const testing::scratch_folder folder_;
  const std::string root_ = folder_.path;
};

TEST_F(counter_access, is_as_the_counter_found_it_where_no_file_tells_more) {
  EXPECT_EQ(why_not_counted(0, root_), "");
  EXPECT_EQ(why_not_counted(ENOTSUP, root_), "programs may not read them, or others have taken them all");
  EXPECT_EQ(why_not_counted(ENOENT, root_),
            "perf_event_open: No such file or directory; many virtual machines have none");
}

TEST_F(counter_access, names_the_setting_that_forbids_it) {
  put("/sys/bus/event_source/devices/cpu/rdpmc", "0\n");
  EXPECT_EQ(why_not_counted(ENOTSUP, root_),
            "/sys/bus/event_source/devices/cpu/rdpmc is 0: programs may read them once it is 1");
  put("/proc/sys/kernel/perf_user_access", "0\n");
  EXPECT_EQ(why_not_counted(ENOTSUP, root_),
            "/proc/sys/kernel/perf_user_access is 0: programs may read them once it is 1");
  for (const int error : {EACCES, EPERM})
    EXPECT_NE(why_not_counted(error, root_).find("perf_event_paranoid above 2"), std::string::npos);
}

TEST_F(counter_access, does_not_blame_a_setting_that_allows_it) {
  put("/proc/sys/kernel/perf_user_access", "1\n");
  EXPECT_EQ(why_not_counted(ENOTSUP, root_), "programs may not read them, or others have taken them all");
}

TEST_F(counter_access, is_refused_where_cores_differ) {
  put("/sys/bus/event_source/devices/cpu_core/cpus", "0-3\n");
  put("/sys/bus/event_source/devices/uncore/cpumask", "0\n");
  EXPECT_EQ(why_not_counted(0, root_), "");
  put("/sys/bus/event_source/devices/cpu_atom/cpus", "4-7\n");
  EXPECT_EQ(why_not_counted(0, root_), "a thread counts on one kind of its cores alone");
}

}  // namespace
}  // namespace heaplab::trace
