#include "recorded/workload_view.h"

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>

#include "recorded/file_error.h"
#include "recorded/synthetic_program.h"
#include "recorded/workload_writer.h"
#include "support/scratch_folder.h"

namespace heaplab {
namespace {

using recorded::action;
using recorded::file_error;
using recorded::header;
using recorded::operation;
using recorded::workload_view;
using recorded::workload_writer;
using testing::scratch_file;

std::string refusal_of(const std::string& path) {
  try {
    const workload_view work(path);
    return "accepted";
  } catch (const file_error& error) {
    return error.what();
  }
}

void write_all(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

TEST(workload_view, sees_every_flipped_bit) {
  const testing::compiled made(testing::swapping_program(2, 500, 1));
  const scratch_file& file = made.file;
  const std::string whole = testing::text_of(file.path);
  EXPECT_EQ(refusal_of(file.path), "accepted");
  for (std::size_t at = 0; at < whole.size(); at += 97) {
    if (at >= sizeof(header) && at < header::bytes) continue;  // no meaning yet
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    write_all(file.path, damaged);
    EXPECT_NE(refusal_of(file.path), "accepted") << at;
  }
}

TEST(workload_view, says_in_a_line_what_is_wrong) {
  const testing::compiled made(testing::swapping_program(2, 500, 1));
  const scratch_file& file = made.file;
  const std::string whole = testing::text_of(file.path);
  const auto refused = [&](const std::string& text) {
    write_all(file.path, text);
    return refusal_of(file.path);
  };
  EXPECT_EQ(refused(""), file.path + ": empty");
  EXPECT_EQ(refused("#!/bin/sh\n"), file.path + ": not a workload file");
  EXPECT_EQ(refused(std::string(5000, 'x')), file.path + ": not a workload file");
  EXPECT_EQ(refused(whole.substr(0, whole.size() / 2)), file.path + ": cut off");
  std::string other = whole;
  other[8] = 9;
  EXPECT_EQ(refused(other), file.path + ": a workload file of another version; compile the trace again");
  EXPECT_EQ(refusal_of("."), ".: not a file");
  EXPECT_EQ(refusal_of("no/such"), "no/such: No such file or directory");
}

// A file that others wrote, with right checksums.
TEST(workload_view, accepts_no_operation_that_cannot_be_carried_out) {
  const scratch_file file("unsound");
  const auto refused = [&](const std::vector<operation>& added) {
    {
      workload_writer writer(file.path);
      for (std::uint32_t stream = 0; stream <= recorded::main_thread; ++stream) writer.add_stream();
      for (const operation step : added) writer.add(recorded::main_thread, step);
      header head;
      head.slots = 8;
      writer.finish(head);
    }
    return refusal_of(file.path) != "accepted";
  };
  EXPECT_FALSE(refused({operation(action::allocate, 7, 10), operation(action::release, 7, 10)}));
  EXPECT_TRUE(refused({operation(action::allocate, 8, 10)}));
  EXPECT_TRUE(refused({operation(action::allocate, 0, 0).with_side()}));
  EXPECT_TRUE(refused({operation(action::allocate_aligned, 0, 16)}));
  EXPECT_TRUE(refused({std::bit_cast<operation>(static_cast<std::uint64_t>(action::last) + 1)}));
  EXPECT_TRUE(refused({operation(action::start_thread, 3)}));
  EXPECT_TRUE(refused({operation(action::start_thread, 2)}));
  EXPECT_TRUE(refused({operation(action::join_thread, 3)}));
  EXPECT_TRUE(refused({operation(action::pass_epoch, 0)}));
  EXPECT_TRUE(refused({operation(action::place, 0, 10)}));
  EXPECT_TRUE(refused({operation(action::reallocate, 0, 10)}));
  EXPECT_TRUE(refused({operation(action::reallocate, 0, 10), operation(action::release, 0, 10)}));
}

TEST(workload_view, writer_leaves_nothing_behind_where_it_cannot_write) {
  EXPECT_THROW(workload_writer("no/such/folder.workload"), file_error);
  const scratch_file file("unfinished");
  {
    workload_writer abandoned(file.path);
  }
  EXPECT_FALSE(std::filesystem::exists(file.path));
  for (const auto& entry : std::filesystem::directory_iterator("."))
    EXPECT_FALSE(entry.path().filename().string().starts_with(file.path)) << entry.path();
}

}  // namespace
}  // namespace heaplab
