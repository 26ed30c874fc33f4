#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "moving/jump_aarch64.h"
#include "moving/moved_entry.h"

namespace heaplab::moving {
namespace {

using words = std::vector<std::uint32_t>;

constexpr std::uint64_t here = 0x10000;
constexpr std::uint32_t push = 0xA9BF7BFD, bti_c = 0xD503245F, paciasp = 0xD503233F;
constexpr std::uint32_t back[] = {0x14000000, 0x17FFFFFF, 0x17FFFFFE};  // b, over so many instructions

moved_entry move(const words& function, std::uint64_t at = here, std::size_t padding = 0) {
  std::vector<std::uint8_t> bytes(4 * function.size() + 1);
  std::memcpy(bytes.data(), function.data(), 4 * function.size());
  return move_entry(at, std::span(bytes).first(4 * function.size()), padding);
}

// Of the code, displacements are b, bl and adrp.
void expect(const moved_entry& found, const words& code) {
  EXPECT_EQ(found.fault, "");
  EXPECT_EQ(found.replaced, 4);
  words moved(found.code.size() / 4);
  std::memcpy(moved.data(), found.code.data(), found.code.size());
  EXPECT_EQ(moved, code);
  std::vector<std::size_t> displacements;
  for (std::size_t at = 0; at < code.size(); ++at)
    if (aarch64::is_branch(code[at]) || (code[at] & 0x9F000000) == aarch64::adrp)
      displacements.push_back(4 * at);
  EXPECT_EQ(found.displacements, displacements);
}

TEST(moved_entry_aarch64, copies) {
  expect(move({push}), {push, back[0]});
}

TEST(moved_entry_aarch64, leads_to_the_same_place) {
  for (const std::uint32_t same : {0x14000400u, 0x97FFFC00u, 0xD0000087u})  // b, bl, adrp x7
    expect(move({same}), {same, back[0]});
  // b.ne, bc.ne, cbz x3, cbnz w3, tbz w5, tbnz x5, cbbge w5
  struct {
    std::uint32_t code, over, to;
  } constexpr conditions[] = {{0x54000201, 0x54000041, 0x1400000E}, {0x54000211, 0x54000051, 0x1400000E},
                              {0xB4000203, 0xB4000043, 0x1400000E}, {0x35FFFE03, 0x35000043, 0x17FFFFEE},
                              {0x36180205, 0x36180045, 0x1400000E}, {0xB71FFE05, 0xB7180045, 0x17FFFFEE},
                              {0x7423A005, 0x74238045, 0x17FFFEFE}};
  for (const auto& [code, over, to] : conditions) expect(move({code}), {over, back[0], to});
}

TEST(moved_entry_aarch64, forms_the_same_address) {
  expect(move({0x30091A27}), {0xD0000087, 0x910D14E7, back[1]});  // adr x7, 0x22345
  expect(move({0x50FFFFE7}), {0xF0FFFFE7, 0x913FF8E7, back[1]});  // adr x7, 0xfffe
  // ldr w1, x1, ldrsw x1, prfm, ldr s1, d1, q1
  struct {
    std::uint32_t code, load;
  } constexpr literals[] = {{0x18000801, 0xB9400201}, {0x58000801, 0xF9400201}, {0x98000801, 0xB9800201},
                            {0xD8000800, 0xF9800200}, {0x1C000801, 0xBD400201}, {0x5C000801, 0xFD400201},
                            {0x9C000801, 0x3DC00201}};
  for (const auto& [code, load] : literals) expect(move({code}), {0x90000010, 0x91040210, load, back[2]});
}

TEST(moved_entry_aarch64, keeps_what_may_be_landed_on) {
  EXPECT_EQ(move({push}).kept, 0);
  for (const std::uint32_t landing : {bti_c, 0xD503249Fu, 0xD50324DFu, paciasp, 0xD503237Fu}) {
    EXPECT_EQ(move({landing, push}).kept, 4);
    expect(move({landing, 0x30091A27}, here - 4), {landing, 0xD0000087, 0x910D14E7, back[2]});
  }
}

TEST(moved_entry_aarch64, refuses_what_cannot_be_moved) {
  EXPECT_EQ(move({bti_c}).fault, "it is shorter than a jump");
  EXPECT_EQ(move({bti_c, push}, here, 4).fault, "it is shorter than a jump");
  for (const words& function : std::vector<words>{{push, back[1]},
                                                  {push, 0xB5FFFFE0},
                                                  {bti_c, push, back[1]},
                                                  {bti_c, push, back[2]},
                                                  {bti_c, push, 0x97FFFFFF}})
    EXPECT_EQ(move(function).fault, "it jumps back to its first instructions");
  for (const std::uint32_t code : {0xD50324FFu, 0xDAC1A3FEu, 0x1000001Fu})
    EXPECT_EQ(move({bti_c, code}).fault, "its first instruction cannot be moved");
  expect(move({push, 0x97FFFFFF}), {push, back[0]});        // it calls itself
  expect(move({push, back[1]}, here, 4), {push, back[0]});  // that is padding
  expect(move({push, push, back[1]}), {push, back[0]});
}

TEST(moved_entry_aarch64, adapts_what_is_put_elsewhere) {
  using aarch64::moved;
  EXPECT_EQ(moved(0x97FFFC00, here, 0x8000), 0x94001C00);      // to 0xf000
  EXPECT_EQ(moved(0xD0000087, here, 0x80100010), 0xD0BFF907);  // to 0x22000
  constexpr std::uint64_t furthest = 0xF000 + 0x8000000, furthest_page = 0x100022000;
  EXPECT_TRUE(moved(0x97FFFC00, here, furthest));
  EXPECT_FALSE(moved(0x97FFFC00, here, furthest + 4));
  EXPECT_TRUE(moved(0xD0000087, here, furthest_page));
  EXPECT_FALSE(moved(0xD0000087, here, furthest_page + 0x1000));
  EXPECT_EQ(jump(0x1000, 0x2000), (std::array<std::uint8_t, 4>{0, 4, 0, 0x14}));
}

}  // namespace
}  // namespace heaplab::moving
