#include "probes/write_whole.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

namespace heaplab::probes {
namespace {

class temporary_file {
public:
  temporary_file() : file(::mkstemp(path_)) {}
  ~temporary_file() {
    ::close(file);
    ::unlink(path_);
  }
  std::string contents() const {
    std::string text(1 << 16, '\0');
    text.resize(static_cast<std::size_t>(::pread(file, text.data(), text.size(), 0)));
    return text;
  }

private:
  char path_[32] = "/tmp/heaplab-text-XXXXXX";

public:
  const int file;
};

TEST(write_whole, appends) {
  temporary_file target;
  EXPECT_EQ(write_whole(target.file, "one\n"), 0);
  EXPECT_EQ(write_whole(target.file, "two\n"), 0);
  EXPECT_EQ(target.contents(), "one\ntwo\n");
}

TEST(write_whole, reports_a_closed_pipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(write_whole(ends[1], "lost"), EPIPE);
  std::signal(SIGPIPE, before);
  ::close(ends[1]);
}

// A limit on the file's size stands in for a full disk: the first write is cut short, the second fails.
TEST(write_whole, cuts_the_file_back_when_the_disk_is_full) {
  temporary_file target;
  ASSERT_EQ(write_whole(target.file, "kept\n"), 0);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 100, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_EQ(write_whole(target.file, std::string(1000, 'x')), EFBIG);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(target.contents(), "kept\n");
}

}  // namespace
}  // namespace heaplab::probes
