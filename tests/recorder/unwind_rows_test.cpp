// Rows of files as they are are compared with readelf by unwind_rows.py. Here: no bytes make a reader leave
// them, and known instructions give known rows.
#include "recorder/unwind_rows.h"

#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace heaplab::recorder {
namespace {

using bytes = std::vector<unsigned char>;
using cfa = unwind_row::cfa;

template <class Number>
void add(bytes& to, Number number) {
  const std::size_t end = to.size();
  to.resize(end + sizeof number);
  std::memcpy(to.data() + end, &number, sizeof number);
}

void add_entry(bytes& to, const bytes& content) {
  add(to, static_cast<std::uint32_t>(content.size()));
  to.insert(to.end(), content.begin(), content.end());
}

// A file with one function, which begins at `function` and has `code_bytes`.
class one_function {
public:
  static constexpr std::uint64_t function = 0x5000;
  static constexpr std::uint32_t code_bytes = 0x100;

  explicit one_function(const bytes& instructions, const std::string& augmentation = "zR",
                        const bytes& shared_instructions = {0x0C, 7, 8, 0x90, 1}) {
    bytes shared;
    add(shared, std::uint32_t{0});  // that it is a CIE
    shared.push_back(1);            // version
    for (const char letter : augmentation) shared.push_back(static_cast<unsigned char>(letter));
    shared.insert(shared.end(), {0, 1, 0x78, 16, 1, 0x1B});  // units 1 and -8, return address, pointers
    shared.insert(shared.end(), shared_instructions.begin(), shared_instructions.end());
    add_entry(frames_, shared);
    const std::size_t own_at = frames_.size();
    bytes own;
    add(own, static_cast<std::uint32_t>(own_at + 4));  // distance to the CIE
    add(own, static_cast<std::int32_t>(function - (frames_at + own_at + 8)));
    add(own, code_bytes);
    own.push_back(0);  // no augmentation
    own.insert(own.end(), instructions.begin(), instructions.end());
    add_entry(frames_, own);
    header_ = {1, 0x1B, 0x03, 0x3B};
    add(header_, static_cast<std::int32_t>(frames_at - (header_at + 4)));
    add(header_, std::uint32_t{1});
    add(header_, static_cast<std::int32_t>(function - header_at));
    add(header_, static_cast<std::int32_t>(frames_at + own_at - header_at));
  }

  unwind_row row(std::uint64_t offset) const { return table().row_of(function + offset); }
  unwind_table table() const { return {header_, header_at, frames_, frames_at}; }

private:
  static constexpr std::uint64_t header_at = 0x8000;
  static constexpr std::uint64_t frames_at = 0x9000;
  bytes header_;
  bytes frames_;
};

TEST(unwind_rows, follow_the_stack_pointer_through_pushes) {
  // push rbp; sub rsp, 32; ... add rsp, 32; pop rbp
  const one_function file(
      {0x41, 0x0E, 16, 0x86, 2, 0x44, 0x0E, 48, 0x02, 0x20, 0x0E, 16, 0x41, 0xC6, 0x0E, 8});
  EXPECT_EQ(file.row(0), (unwind_row{8, unwind_row::not_saved, cfa::stack_pointer}));
  EXPECT_EQ(file.row(1), (unwind_row{16, -16, cfa::stack_pointer}));
  EXPECT_EQ(file.row(5), (unwind_row{48, -16, cfa::stack_pointer}));
  EXPECT_EQ(file.row(0x25), (unwind_row{16, -16, cfa::stack_pointer}));
  EXPECT_EQ(file.row(0x26), (unwind_row{8, unwind_row::not_saved, cfa::stack_pointer}));
}

TEST(unwind_rows, go_back_to_what_was_remembered) {
  const one_function file({0x41, 0x0E, 64, 0x0A, 0x41, 0x0E, 8, 0x41, 0x0B});
  EXPECT_EQ(file.row(1).offset, 64);
  EXPECT_EQ(file.row(2).offset, 8);
  EXPECT_EQ(file.row(3).offset, 64);
}

TEST(unwind_rows, know_the_frame_pointer_and_what_is_stored_there) {
  const one_function pointer({0x0C, 6, 16, 0x86, 2});
  EXPECT_EQ(pointer.row(9), (unwind_row{16, -16, cfa::frame_pointer}));
  const one_function aligned({0x0F, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0});
  EXPECT_EQ(aligned.row(9), (unwind_row{-8, 0, cfa::at_frame_pointer}));
  const one_function stored({0x0F, 3, 0x76, 0x78, 0x06});
  EXPECT_EQ(stored.row(9), (unwind_row{-8, unwind_row::not_saved, cfa::at_frame_pointer}));
  const one_function linkage({0x0F, 3, 0x77, 0x78, 0x06});
  EXPECT_EQ(linkage.row(9).rule, cfa::unknown);
}

TEST(unwind_rows, tell_where_the_frame_pointer_is_lost) {
  EXPECT_EQ(one_function({0x07, 6}).row(9).saved_frame_pointer, unwind_row::overwritten);
  EXPECT_EQ(one_function({0x09, 6, 3}).row(9).saved_frame_pointer, unwind_row::overwritten);
  EXPECT_EQ(one_function({0x10, 6, 2, 0x77, 0}).row(9).saved_frame_pointer, unwind_row::overwritten);
}

TEST(unwind_rows, end_where_there_is_no_caller) {
  EXPECT_EQ(one_function({0x07, 16}).row(9).rule, cfa::outermost);
  EXPECT_EQ(one_function({}, "zRS").row(9).rule, cfa::signal);
}

TEST(unwind_rows, are_unknown_outside_functions) {
  const one_function file({});
  EXPECT_EQ(file.row(~std::uint64_t{0}).rule, cfa::unknown);  // the byte before
  EXPECT_EQ(file.row(one_function::code_bytes - 1).rule, cfa::stack_pointer);
  EXPECT_EQ(file.row(one_function::code_bytes).rule, cfa::unknown);
}

TEST(unwind_rows, are_unknown_where_an_instruction_is) {
  EXPECT_EQ(one_function({0x3F}).row(9).rule, cfa::unknown);
  EXPECT_EQ(one_function({0x0B}).row(9).rule, cfa::unknown);  // recalls what was never remembered
  EXPECT_EQ(one_function(bytes(9, 0x0A)).row(9).rule, cfa::unknown);
  EXPECT_EQ(one_function({0x0E, 0x80}).row(9).rule, cfa::unknown);  // cut off
  EXPECT_EQ(one_function({}, "R").row(9).rule, cfa::unknown);
}

// The tables of every file that this test has loaded.
std::vector<unwind_table> loaded_tables() {
  std::vector<unwind_table> found;
  const auto add_file = [](dl_phdr_info* of, std::size_t, void* to) {
    std::uint64_t at = 0;
    std::uint64_t size = 0;
    for (const auto& segment : std::span(of->dlpi_phdr, of->dlpi_phnum))
      if (segment.p_type == PT_GNU_EH_FRAME) at = of->dlpi_addr + segment.p_vaddr, size = segment.p_memsz;
    const bytes_view header(reinterpret_cast<const unsigned char*>(at), size);
    unwind_table::extent told{};
    if (size < unwind_table::head_bytes || !unwind_table::read_head(header, at, told)) return 0;
    const std::uint64_t last = unwind_table::last_frame(header, at);
    std::uint32_t length;
    std::memcpy(&length, reinterpret_cast<const void*>(last), sizeof length);
    const bytes_view frames(reinterpret_cast<const unsigned char*>(told.frames_at),
                            last + sizeof length + length - told.frames_at);
    static_cast<std::vector<unwind_table>*>(to)->push_back({header, at, frames, told.frames_at});
    return 0;
  };
  dl_iterate_phdr(add_file, &found);
  return found;
}

// A copy at the end of a block: what reads beyond it is caught by the address sanitizer.
class changed_table {
public:
  changed_table(const unwind_table& of, std::size_t header_bytes, std::size_t frame_bytes)
      : header_(std::make_unique<unsigned char[]>(header_bytes)),
        frames_(std::make_unique<unsigned char[]>(frame_bytes)),
        table{{header_.get(), header_bytes}, of.header_at, {frames_.get(), frame_bytes}, of.frames_at} {
    std::memcpy(header_.get(), of.header.data(), header_bytes);
    std::memcpy(frames_.get(), of.frames.data(), frame_bytes);
  }

  unsigned char& header(std::size_t at) { return header_[at]; }
  unsigned char& frames(std::size_t at) { return frames_[at]; }

private:
  std::unique_ptr<unsigned char[]> header_;
  std::unique_ptr<unsigned char[]> frames_;

public:
  const unwind_table table;
};

bool is_sound(const unwind_row& row) {
  return row.rule >= cfa::unknown && row.rule <= cfa::signal &&
         (row.saved_frame_pointer % 8 == 0 || row.saved_frame_pointer == unwind_row::not_saved ||
          row.saved_frame_pointer == unwind_row::overwritten);
}

std::uint64_t function_of(const unwind_table& table, std::size_t number) {
  std::int32_t begin;
  std::memcpy(&begin, table.header.data() + unwind_table::head_bytes + number * unwind_table::entry_bytes,
              sizeof begin);
  return table.header_at + static_cast<std::uint64_t>(begin);
}

TEST(unwind_rows, of_damaged_files_are_sound_or_unknown) {
  std::mt19937_64 random(34);
  std::size_t known = 0;
  std::size_t unknown = 0;
  for (const unwind_table& whole : loaded_tables()) {
    if (whole.frames.empty()) continue;
    const std::size_t functions =
        (whole.header.size() - unwind_table::head_bytes) / unwind_table::entry_bytes;
    changed_table changed(whole, whole.header.size(), whole.frames.size());
    for (int change = 0; change < 3000 && functions > 0; ++change) {
      const std::uint64_t code = function_of(whole, random() % functions) + random() % 64;
      std::int32_t frame_at;  // of any function: its entry is what is damaged
      const std::size_t entry = unwind_table::head_bytes + (random() % functions) * unwind_table::entry_bytes;
      std::memcpy(&frame_at, whole.header.data() + entry + 4, sizeof frame_at);
      const std::uint64_t frame = whole.header_at + static_cast<std::uint64_t>(frame_at) - whole.frames_at;
      const bool hits_header = random() % 8 == 0;
      unsigned char& byte = hits_header
                                ? changed.header(unwind_table::head_bytes + random() % (8 * functions))
                                : changed.frames((frame + random() % 48) % whole.frames.size());
      const unsigned char before = std::exchange(byte, static_cast<unsigned char>(random()));
      const std::uint64_t damaged = function_of(whole, (entry - unwind_table::head_bytes) / 8);
      for (const std::uint64_t at : {code, damaged, damaged + random() % 64}) {
        const unwind_row row = changed.table.row_of(at);
        ASSERT_TRUE(is_sound(row));
        ++(row.rule == cfa::unknown ? unknown : known);
      }
      if (random() % 4 != 0) byte = before;  // else damage adds up
    }
  }
  EXPECT_GT(known, 1000U);
  EXPECT_GT(unknown, 1000U);
}

TEST(unwind_rows, of_a_file_cut_off_anywhere_are_sound_or_unknown) {
  const one_function file(
      {0x41, 0x0E, 16, 0x86, 2, 0x0F, 3, 0x76, 0x78, 0x06, 0x04, 1, 0, 0, 0, 0x12, 7, 0x7F});
  const unwind_table whole = file.table();
  for (std::size_t header = 0; header <= whole.header.size(); ++header)
    for (std::size_t frames = 0; frames <= whole.frames.size(); ++frames) {
      const changed_table cut(whole, header, frames);
      const bool is_whole = header == whole.header.size() && frames == whole.frames.size();
      EXPECT_EQ(cut.table.row_of(one_function::function + 8).rule != cfa::unknown, is_whole);
    }
}

TEST(unwind_rows, of_any_instructions_are_sound_or_unknown) {
  std::mt19937_64 random(35);
  for (int time = 0; time < 20'000; ++time) {
    bytes instructions(random() % 24);
    for (unsigned char& byte : instructions) byte = static_cast<unsigned char>(random());
    ASSERT_TRUE(is_sound(one_function(instructions).row(random() % one_function::code_bytes)));
  }
}

}  // namespace
}  // namespace heaplab::recorder
