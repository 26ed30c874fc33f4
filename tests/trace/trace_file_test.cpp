// Trace files whole, cut off at every byte, and with every bit flipped.
#include "trace/file/trace_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "support/scratch_folder.h"
#include "trace/file/event_stream.h"
#include "trace/file/trace_error.h"
#include "trace/file/trace_writer.h"
#include "trace/random_events.h"

namespace heaplab::trace {
namespace {

void spill(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<event> all_of(trace_file& file, std::uint32_t process, std::uint64_t* lost = nullptr) {
  event_stream stream(file, process);
  std::vector<event> events;
  for (event e; stream.next(e);) events.push_back(e);
  if (lost != nullptr) *lost = stream.lost();
  return events;
}

class trace_file_test : public ::testing::Test {
protected:
  static std::vector<event> events_of(std::size_t process, std::size_t count) {
    const auto number = static_cast<unsigned>(process) + 1;
    return random_events(count, number, number);
  }

  // Processes of the given numbers of events; process n with seed n + 1 and n + 1 sites.
  void write(const std::vector<std::size_t>& counts) {
    trace_writer to(path_);
    for (std::size_t process = 0; process < counts.size(); ++process) {
      properties of;
      of.set("pid", 100 + process);
      EXPECT_EQ(to.begin_process(of), process);
      for (std::uint64_t site = 0; site <= process; ++site) {
        const std::uint64_t frames[] = {0x400000 + site, 0x7fff00000000 - site};
        EXPECT_EQ(to.add_site(frames), site + 1);
      }
      for (const event& e : events_of(process, counts[process])) to.add(e);
      to.add_modules("400000-500000 0 program\n");
      to.add_build_ids("400000 c0ffee\n");
      properties summary;
      summary.set("events", counts[process]);
      to.end_process(summary);
    }
    to.close();
  }

  testing::scratch_folder folder_;
  std::string path_ = folder_ / "x.trace";
};

TEST_F(trace_file_test, files_give_back_the_blocks_that_lived_before) {
  std::vector<event> lived;
  for (std::uint64_t number = 1; number <= trace_writer::frame_events + 7; ++number)
    lived.push_back(
        {.stamp = 9, .address = 16 * number, .size = number, .thread = 0, .site = 1, .kind = kind::calloc});
  {
    trace_writer to(path_);
    to.begin_process({});
    const std::uint64_t frames[] = {0x400000};
    to.add_site(frames);
    to.add_lived(lived);
    to.add({.stamp = 10, .address = 16, .thread = 1, .kind = kind::free});
    to.end_process({});
    to.close();
  }
  trace_file file(path_);
  std::vector<event> found;
  each_lived(file, 0, [&found](const event& block) { found.push_back(block); });
  EXPECT_TRUE(found == lived);
  EXPECT_EQ(all_of(file, 0).size(), 1U);
  EXPECT_EQ(site_table(file, 0).frames_of(1)[0], 0x400000U);
}

TEST_F(trace_file_test, files_give_back_every_process) {
  write({3 * trace_writer::frame_events + 5, 0, 77});
  trace_file file(path_);
  ASSERT_EQ(file.processes().size(), 3U);
  for (unsigned process = 0; process < 3; ++process) {
    EXPECT_EQ(file.processes()[process].of.number("pid"), 100 + process);
    const std::vector<event> events = all_of(file, process);
    EXPECT_EQ(events.size(), file.processes()[process].summary.number("events"));
    EXPECT_TRUE(events == events_of(process, events.size()));
    EXPECT_EQ(file.modules(process), "400000-500000 0 program\n");
    EXPECT_EQ(file.build_ids(process), "400000 c0ffee\n");
    const site_table sites(file, process);
    ASSERT_EQ(sites.size(), process + 1U);
    EXPECT_EQ(sites.frames_of(process + 1)[0], 0x400000U + process);
    EXPECT_EQ(sites.frames_of(process + 1)[1], 0x7fff00000000U - process);
    EXPECT_TRUE(sites.frames_of(0).empty());
    EXPECT_TRUE(sites.frames_of(process + 2).empty());
  }
  EXPECT_TRUE(file.damage().empty());
}

TEST_F(trace_file_test, files_without_processes_are_files_too) {
  trace_writer(path_).close();
  EXPECT_TRUE(trace_file(path_).processes().empty());
}

TEST_F(trace_file_test, files_cut_off_at_any_byte_give_the_frames_before) {
  write({60, 20});
  const std::string whole = testing::text_of(path_);
  std::size_t most = 0;
  for (std::size_t kept = 0; kept < whole.size(); ++kept) {
    spill(path_, whole.substr(0, kept));
    if (kept < sizeof(file_header::magic)) {
      EXPECT_THROW(trace_file{path_}, trace_error) << kept;
      continue;
    }
    trace_file file(path_);  // one whose header is cut off has no frames
    std::size_t found = 0;
    for (std::uint32_t process = 0; process < file.processes().size(); ++process) {
      const std::vector<event> events = all_of(file, process);
      EXPECT_TRUE(events.empty() || events == events_of(process, events.size())) << kept;
      found += events.size();
    }
    EXPECT_GE(found, most) << kept;
    most = found;
    EXPECT_FALSE(file.damage().empty()) << kept;
  }
  EXPECT_EQ(most, 80U);
}

TEST_F(trace_file_test, files_with_any_bit_flipped_give_nothing_wrong_and_say_what_is_lost) {
  write({12, 5});
  const std::string whole = testing::text_of(path_);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    spill(path_, damaged);
    if (bit / 8 < sizeof file_magic) {
      EXPECT_THROW(trace_file{path_}, trace_error);
      continue;
    }
    trace_file file(path_);
    for (std::uint32_t process = 0; process < file.processes().size(); ++process) {
      std::uint64_t lost = 0;
      const std::vector<event> events = all_of(file, process, &lost);
      EXPECT_TRUE(events.empty() || events == events_of(process, events.size())) << bit;
      const std::uint64_t counted = file.processes()[process].summary.number("events");
      EXPECT_TRUE(counted == 0 || events.size() + lost == counted) << bit;
      const site_table sites(file, process);
      EXPECT_LE(sites.size(), process + 1U);
      file.modules(process);
      file.build_ids(process);
    }
    EXPECT_FALSE(file.damage().empty()) << bit;
  }
}

TEST_F(trace_file_test, files_behind_a_damaged_frame_the_next_is_found) {
  write({3 * trace_writer::frame_events});
  std::string text = testing::text_of(path_);
  const index_entry second = trace_file(path_).processes()[0].frames.at(2);  // a frame of sites comes first
  text.resize(text.size() - 1);                                              // no index either
  text[second.offset] ^= 1;
  spill(path_, text);
  trace_file file(path_);
  std::uint64_t lost = 0;
  EXPECT_EQ(all_of(file, 0, &lost).size(), 2 * trace_writer::frame_events);
  EXPECT_EQ(lost, trace_writer::frame_events);
}

TEST_F(trace_file_test, files_of_a_later_major_version_are_refused) {
  write({5});
  std::string text = testing::text_of(path_);
  file_header header;
  std::memcpy(&header, text.data(), sizeof header);
  header.major = 2;
  header.crc = crc_of(header);
  std::memcpy(text.data(), &header, sizeof header);
  spill(path_, text);
  EXPECT_THROW(trace_file{path_}, trace_error);
}

TEST_F(trace_file_test, files_that_are_none_are_refused) {
  EXPECT_THROW(trace_file{path_}, trace_error);
  spill(path_, "");
  EXPECT_THROW(trace_file{path_}, trace_error);
  spill(path_, "a text that is long enough to hold the header of a trace file and more");
  EXPECT_THROW(trace_file{path_}, trace_error);
  EXPECT_THROW(trace_file{::testing::TempDir()}, trace_error);
}

TEST_F(trace_file_test, files_a_full_disk_is_told) {
  const auto write_to_full = [] {
    trace_writer to("/dev/full");
    to.close();
  };
  EXPECT_THROW(write_to_full(), trace_error);
}

}  // namespace
}  // namespace heaplab::trace
