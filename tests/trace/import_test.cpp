#include "trace/import/import.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/scratch_folder.h"
#include "trace/file/event_stream.h"
#include "trace/file/trace_error.h"
#include "trace/import/text_lines.h"

namespace heaplab::trace {
namespace {

// A file of the test's own, removed at the end.
class import : public ::testing::Test {
protected:
  int opened(const std::string& text) {
    std::ofstream(folder_ / "text", std::ios::binary) << text;
    return ::open((folder_ / "text").c_str(), O_RDONLY | O_CLOEXEC);
  }

  imported read(const std::string& text) {
    const int descriptor = opened(text);
    const imported found = import_text(descriptor, "text", path());
    ::close(descriptor);
    return found;
  }

  std::vector<event> events() {
    trace_file file(path());
    event_stream stream(file, 0);
    std::vector<event> found;
    for (event e; stream.next(e);) found.push_back(e);
    EXPECT_TRUE(file.damage().empty());
    return found;
  }

  std::string path() const { return folder_ / "made.trace"; }

private:
  testing::scratch_folder folder_;
};

std::string packed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

const std::string mtrace =
    "= Start\n"
    "@ /a b/prog:(f+0x12)[0x11bf] + 0x1000 0xa\n"
    "@ /a b/prog:[0x11dd] < 0x1000\n"
    "@ /a b/prog:[0x11dd] > 0x2000 0x3e8\n"
    "@ /a b/prog:[0x11dd] ! 0x2000 0xffff\n"
    "@ [0x1216] - 0x2000\n"
    "= End\n";

TEST_F(import, mtrace_tells_calls_and_places) {
  const imported found = read(mtrace);
  EXPECT_EQ(found.source, "mtrace");
  EXPECT_EQ(found.skipped, 0U);
  EXPECT_FALSE(found.cut_off);
  const std::vector<event> all = events();
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[0].kind, kind::thread_begin);
  EXPECT_EQ(all[1].kind, kind::malloc);
  EXPECT_EQ(all[1].size, 10U);
  EXPECT_EQ(all[2].kind, kind::realloc_from);
  EXPECT_EQ(all[3].kind, kind::realloc_to);
  EXPECT_EQ(all[3].address, 0x2000U);
  EXPECT_EQ(all[3].site, all[2].site);
  EXPECT_NE(all[3].site, all[1].site);
  EXPECT_EQ(all[4].address, 0U);
  EXPECT_EQ(all[5].kind, kind::free);
  trace_file file(path());
  EXPECT_EQ(file.names(0), "1 /a b/prog:(f+0x12)[0x11bf]\n2 /a b/prog:[0x11dd]\n3 [0x1216]\n");
  const properties& summary = file.processes()[0].summary;
  EXPECT_EQ(summary.number("acquisitions"), 2U);
  EXPECT_EQ(summary.number("failed"), 1U);
  EXPECT_EQ(summary.number("live_blocks"), 0U);
}

TEST_F(import, lines_not_understood_are_counted_as_lost) {
  const imported found =
      read("= Start\n@ a:[0x1] + 0x10\n@ a:[0x1] ? 0x10 0x10\nnonsense\n@ a:[0x1] - 0x1g\n");
  EXPECT_EQ(found.skipped, 4U);
  EXPECT_EQ(trace_file(path()).processes()[0].summary.number("lost"), 4U);
}

TEST_F(import, a_last_line_without_an_end_is_cut_off) {
  EXPECT_TRUE(read(mtrace + "@ a:[0x1] + 0x10 0x1").cut_off);
  EXPECT_EQ(events().size(), 6U);
}

const std::string raw =
    "v 10400 3\nx 9 /tmp/tr/a\nX /tmp/tr/a b c\nI 1000 5e2\n"
    "m 1 -\nm 1 x 555000 0 790 1000 279\nm 7 /li b.1 7000 0 10 2000 20\n"
    "t 555100 0\nt 555200 1\n"
    "+ a 2 9000\nc 5\n+ 20 1 9100\n- 9000\n- 1234\nR 3c4\nA\n";

TEST_F(import, raw_data_of_heaptrack_has_blocks_stacks_and_modules) {
  const imported found = read(raw);
  EXPECT_EQ(found.source, "heaptrack");
  EXPECT_EQ(found.skipped, 0U);
  const std::vector<event> all = events();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[1].address, 0x9000U);
  EXPECT_EQ(all[1].size, 10U);
  EXPECT_LT(all[1].stamp, 5'000'000U);
  EXPECT_EQ(all[2].stamp, 5'000'000U);
  EXPECT_EQ(all[3].kind, kind::free);
  trace_file file(path());
  const site_table sites(file, 0);
  ASSERT_EQ(sites.frames_of(all[1].site).size(), 2U);
  EXPECT_EQ(sites.frames_of(all[1].site)[0], 0x555200U);
  EXPECT_EQ(sites.frames_of(all[1].site)[1], 0x555100U);
  EXPECT_EQ(file.modules(0), "555000-556279 0 /tmp/tr/a\n7000-9020 0 /li b.1\n");
  EXPECT_EQ(file.processes()[0].of.text("program"), "/tmp/tr/a");
  EXPECT_EQ(file.processes()[0].of.text("arguments"), std::string("/tmp/tr/a\0b\0c\0", 14));
  EXPECT_EQ(file.processes()[0].summary.number("released_inherited"), 1U);
}

const std::string interpreted =
    "v 10400 3\nX ./a\ns 7 /bin/ab\ns 4 main\ns 3 a.c\ni 5550 1 2 3 1f\ni 6660 1\n"
    "t 1 0\nt 2 1\na 40 1\na 10 2\n+ 0\n+ 0\n+ 1\n- 0\n- 1\n- 1\n# strings: 3\n";

TEST_F(import, interpreted_data_of_heaptrack_has_names_and_no_blocks) {
  EXPECT_EQ(read(interpreted).skipped, 1U);  // a release of what does not live
  const std::vector<event> all = events();
  ASSERT_EQ(all.size(), 6U);
  EXPECT_NE(all[1].address, all[2].address);
  EXPECT_EQ(all[4].address, all[2].address);  // the youngest
  EXPECT_EQ(all[5].address, all[3].address);
  trace_file file(path());
  EXPECT_EQ(file.names(0), "5550 main (a.c:31)\n6660 ? (in /bin/ab)\n");
  EXPECT_EQ(file.processes()[0].summary.number("live_bytes"), 64U);
}

TEST_F(import, packed_text_gives_the_same_and_cut_off_what_is_intact) {
  std::string longer = raw;
  for (int line = 0; line < 100'000; ++line) longer += "+ 10 1 " + std::to_string(100'000 + line) + "\n";
  const imported whole = read(packed(longer));
  EXPECT_EQ(whole.events, 100'005U);
  EXPECT_FALSE(whole.cut_off);
  const std::string half = packed(longer).substr(0, packed(longer).size() / 2);
  const imported part = read(half);
  EXPECT_TRUE(part.cut_off);
  EXPECT_LT(part.events, whole.events);
  EXPECT_EQ(events().size(), part.events);
}

TEST_F(import, what_is_neither_is_refused_and_leaves_no_file) {
  for (const std::string& text : {std::string(), std::string("hello\n"), std::string("v 10400 4\n"),
                                  std::string("v 1 3\n") + std::string(2 << 20, 'x')})
    EXPECT_THROW(read(text), trace_error);
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_FALSE(std::filesystem::exists(path() + ".partial"));
}

TEST_F(import, numbers_out_of_range_are_lines_not_understood) {
  EXPECT_EQ(read("v 10400 3\nt 1 9\na 1\n+ 7\n- 3\ni\n+ \nz\nc x\nm 1 x\n").skipped, 8U);
}

TEST_F(import, events_that_a_program_makes_up_come_back_in_their_order) {
  const std::vector<event> given{
      {.stamp = 5, .address = 0x1000, .size = 10, .thread = 1, .kind = kind::malloc},
      {.stamp = 9, .address = 0x2000, .size = 20, .thread = 2, .kind = kind::calloc},
      {.stamp = 9, .address = 0x1000, .thread = 2, .kind = kind::free},
      {.stamp = 12, .address = 0x2000, .thread = 9, .kind = kind::free},  // there is no thread 8
  };
  std::size_t at = 0;
  const auto next = [&](event& e) { return at < given.size() && (e = given[at++], true); };
  const imported found = import_events(next, "made up", path());
  EXPECT_EQ(found.skipped, 1U);
  const std::vector<event> read = events();
  ASSERT_EQ(read.size(), 4U);  // the first is the begin of thread 1
  for (std::size_t i = 0; i < 3; ++i) {
    event expected = given[i];
    expected.stamp += i == 2 ? 1 : 0;  // stamps ascend
    EXPECT_EQ(read[i + 1], expected) << i;
  }
  const trace_file file(path());
  EXPECT_EQ(file.processes()[0].summary.number("threads"), 2U);
  EXPECT_EQ(file.processes()[0].summary.number("live_blocks"), 1U);
  EXPECT_EQ(file.processes()[0].of.text("source"), "made up");
}

}  // namespace
}  // namespace heaplab::trace
