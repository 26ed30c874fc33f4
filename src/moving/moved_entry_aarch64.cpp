// One instruction is replaced, and no decoder needed: those that tell a place by its distance are few, and
// all others are copied.
//
// An instruction on which an indirect call may land (BTI) stays before the jump: a page that the system
// guards must have no other there. The code repeats it, because the function relies on a return address that
// it has signed.
#include <algorithm>
#include <cstring>

#include "moving/jump_aarch64.h"
#include "moving/moved_entry.h"

namespace heaplab::moving {

namespace {

using namespace aarch64;

constexpr std::size_t word = sizeof(instruction);
constexpr unsigned scratch = 16;  // x16 is nobody's at a call: the linker's jumps use it

// Instructions with a distance of so many bits, in words.
struct kind_of_instruction {
  instruction mask, value;
  unsigned at, bits;

  bool has(instruction code) const { return (code & mask) == value; }
  std::uint64_t target(instruction code, std::uint64_t place) const {
    return place + static_cast<std::uint64_t>(number_in(code, at, bits)) * word;
  }
};
constexpr kind_of_instruction branches[] = {
    {0x7C000000, b, 0, 26},           // b, bl
    {0xFF000000, 0x54000000, 5, 19},  // b.cond, bc.cond
    {0x7E000000, 0x34000000, 5, 19},  // cbz, cbnz
    {0x7E000000, 0x36000000, 5, 14},  // tbz, tbnz
    {0x7E000000, 0x74000000, 5, 9},   // cbb.cond, cbh.cond, cb.cond
};
constexpr kind_of_instruction literal{0x3B000000, 0x18000000, 5, 19};

// Loads from [x0], in the order of those of literals: w, x, sw, prfm; s, d, q.
constexpr instruction loads[2][4] = {{0xB9400000, 0xF9400000, 0xB9800000, 0xF9800000},
                                     {0xBD400000, 0xFD400000, 0x3DC00000}};

const kind_of_instruction* branch_of(instruction code) {
  const auto* const found = std::ranges::find_if(branches, [=](const auto& kind) { return kind.has(code); });
  return found == std::end(branches) ? nullptr : found;
}

bool may_be_landed_on(instruction code) {
  constexpr instruction paciasp = 0xD503233F, pacibsp = 0xD503237F, bti = 0xD503241F;
  return code == paciasp || code == pacibsp || (code & 0xFFFFFF3F) == bti;
}

// pacm and its like sign with their own place; adr xzr has no long form.
bool is_unmovable(instruction code) {
  return code == 0xD50324FF || (code & 0xFFFF83FF) == 0xDAC183FE || (code & 0x9F00001F) == (adr | 31);
}

// The code as it grows. b and adrp reach at least as far as the instructions that they stand for, so that
// every target can be aimed at.
class moved_code {
public:
  moved_code(std::uint64_t address, moved_entry& to) : address_(address), to_(to) {}

  void append(instruction code) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&code);
    to_.code.insert(to_.code.end(), bytes, bytes + word);
  }

  void lead(instruction code, std::uint64_t target) {
    const std::size_t at = to_.code.size();
    to_.displacements.push_back(at);
    append(*aimed(code, address_ + at, target));
  }

  void load_address(unsigned to, std::uint64_t address) {
    constexpr instruction add = 0x91000000;
    lead(adrp | to, address);
    append(add | static_cast<instruction>(address & 0xFFF) << 10 | to << 5 | to);
  }

  // Then it goes on behind.
  void move(instruction code, std::uint64_t place) {
    const unsigned to = code & 31;
    if (const auto* const kind = branch_of(code)) {
      const std::uint64_t target = kind->target(code, place);
      if (!is_branch(code)) {  // where the condition holds, the first jump is passed over
        append((code & ~(((1u << kind->bits) - 1) << kind->at)) | 2 << kind->at);
        lead(b, place + word);
        return lead(b, target);
      }
      lead(code, target);
    } else if (literal.has(code)) {
      load_address(scratch, literal.target(code, place));
      append(loads[code >> 26 & 1][code >> 30] | scratch << 5 | to);
    } else if ((code & 0x9F000000) == adrp) {
      lead(code, place + (static_cast<std::uint64_t>(address_in(code)) << 12));
    } else if ((code & 0x9F000000) == adr) {
      load_address(to, place + static_cast<std::uint64_t>(address_in(code)));
    } else {
      append(code);
    }
    lead(b, place + word);
  }

private:
  std::uint64_t address_;
  moved_entry& to_;
};

moved_entry refused(const char* why) {
  moved_entry found;
  found.fault = why;
  return found;
}

}  // namespace

moved_entry move_entry(std::uint64_t address, std::span<const std::uint8_t> function, std::size_t padding) {
  const std::size_t count = (function.size() - std::min(function.size(), padding)) / word;
  std::vector<instruction> codes(count + 1);
  if (count != 0) std::memcpy(codes.data(), function.data(), count * word);
  const bool keeps = may_be_landed_on(codes[0]);
  if (count < keeps + 1u) return refused("it is shorter than a jump");
  if (is_unmovable(codes[keeps])) return refused("its first instruction cannot be moved");
  moved_entry found;
  found.kept = keeps * word;
  found.replaced = word;
  for (std::size_t number = 0; number < count; ++number) {
    const auto* const kind = branch_of(codes[number]);
    if (kind == nullptr) continue;
    const std::uint64_t offset = kind->target(codes[number], number * word);
    const bool calls_itself = offset == 0 && (codes[number] & 0xFC000000) == bl;
    if (offset <= found.kept && !calls_itself) return refused("it jumps back to its first instructions");
  }
  moved_code code(address + found.kept, found);
  if (keeps) code.append(codes[0]);
  code.move(codes[keeps], address + found.kept);
  return found;
}

}  // namespace heaplab::moving
