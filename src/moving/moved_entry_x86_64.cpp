#include <capstone/capstone.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "base/assertion.h"
#include "moving/jump.h"
#include "moving/moved_entry.h"

namespace heaplab::moving {

namespace {

constexpr std::size_t displacement_bytes = 4;

class decoder {
public:
  decoder() {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) throw std::runtime_error("capstone fails");
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_.reset(cs_malloc(handle_));
  }
  decoder(const decoder&) = delete;
  decoder& operator=(const decoder&) = delete;
  ~decoder() {
    instruction_.reset();
    cs_close(&handle_);
  }

  // The instruction at the begin of `code`, which then begins behind it; null if there is none.
  const cs_insn* next(std::span<const std::uint8_t>& code, std::uint64_t& address) {
    const std::uint8_t* at = code.data();
    std::size_t left = code.size();
    if (!cs_disasm_iter(handle_, &at, &left, &address, instruction_.get())) return nullptr;
    code = code.last(left);
    return instruction_.get();
  }

private:
  struct release {
    void operator()(cs_insn* of) const { cs_free(of, 1); }
  };

  csh handle_ = 0;
  std::unique_ptr<cs_insn, release> instruction_;
};

bool is_in(const cs_insn& instruction, x86_insn_group group) {
  const std::span groups(instruction.detail->groups, instruction.detail->groups_count);
  return std::ranges::find(groups, group) != groups.end();
}

bool is_relative(const cs_insn& instruction) {
  const cs_x86& x86 = instruction.detail->x86;
  const bool branches = is_in(instruction, X86_GRP_JUMP) || is_in(instruction, X86_GRP_CALL) ||
                        is_in(instruction, X86_GRP_BRANCH_RELATIVE);
  return branches && x86.op_count == 1 && x86.operands[0].type == X86_OP_IMM;
}

std::uint64_t target_of(const cs_insn& relative) {
  return static_cast<std::uint64_t>(relative.detail->x86.operands[0].imm);
}

// Whether the instruction is a jump to the begin of a function, or a jump or call into the bytes behind. A
// call of the function itself is none.
bool leads_into(const cs_insn& instruction, std::uint64_t begin, std::size_t bytes) {
  if (!is_relative(instruction)) return false;
  const std::uint64_t offset = target_of(instruction) - begin;
  return offset < bytes && (offset != 0 || !is_in(instruction, X86_GRP_CALL));
}

bool reads_by_place(const cs_insn& instruction) {
  const cs_x86& x86 = instruction.detail->x86;
  return std::any_of(x86.operands, x86.operands + x86.op_count, [](const cs_x86_op& operand) {
    return operand.type == X86_OP_MEM && (operand.mem.base == X86_REG_RIP || operand.mem.base == X86_REG_EIP);
  });
}

// Whether no instruction behind this one is reached from it.
bool ends(const cs_insn& instruction) {
  return instruction.id == X86_INS_JMP || instruction.id == X86_INS_UD2 || is_in(instruction, X86_GRP_RET);
}

bool is_padding(const cs_insn& instruction) {
  return instruction.id == X86_INS_NOP || instruction.id == X86_INS_INT3;
}

// The code as it grows.
class moved_code {
public:
  moved_code(std::uint64_t address, moved_entry& to) : address_(address), to_(to) {}

  void copy(const cs_insn& instruction) {
    const std::size_t at = to_.code.size();
    append(instruction);
    if (!reads_by_place(instruction)) return;
    // A displacement counts from the end of its instruction, and an instruction before may have become
    // longer.
    const std::uint64_t distance = instruction.address - (address_ + at);
    const cs_x86& x86 = instruction.detail->x86;
    add_displacement(at + x86.encoding.disp_offset, static_cast<std::uint64_t>(x86.disp) + distance);
  }

  // A jump or call to a place that is told by its distance. False: the instruction has no form with 32 bits.
  bool branch(const cs_insn& instruction) {
    const std::uint8_t first = instruction.detail->x86.opcode[0], second = instruction.detail->x86.opcode[1];
    constexpr std::uint8_t call = 0xE8, near_jump = 0xE9, short_jump = 0xEB, two_bytes = 0x0F;
    if (first == call || first == near_jump || first == short_jump)
      to_.code.push_back(first == call ? call : near_jump);
    else if (first == two_bytes && (second & 0xF0) == 0x80)
      to_.code.insert(to_.code.end(), {two_bytes, second});
    else if ((first & 0xF0) == 0x70)
      to_.code.insert(to_.code.end(), {two_bytes, static_cast<std::uint8_t>(first + 0x10)});
    else
      return false;
    add_distance(target_of(instruction));
    return true;
  }

  void go_on_at(std::uint64_t target) {
    to_.code.push_back(0xE9);
    add_distance(target);
  }

private:
  void append(const cs_insn& instruction) {
    to_.code.insert(to_.code.end(), instruction.bytes, instruction.bytes + instruction.size);
  }

  void add_distance(std::uint64_t target) {
    const std::size_t at = to_.code.size();
    to_.code.resize(at + displacement_bytes);
    add_displacement(at, target - (address_ + at + displacement_bytes));
  }

  void add_displacement(std::size_t at, std::uint64_t displacement) {
    HEAPLAB_ASSERT(at + displacement_bytes <= to_.code.size());
    to_.displacements.push_back(at);
    for (std::size_t byte = 0; byte < displacement_bytes; ++byte)
      to_.code[at + byte] = static_cast<std::uint8_t>(displacement >> 8 * byte);
  }

  std::uint64_t address_;
  moved_entry& to_;
};

moved_entry refused(const std::string& why) {
  moved_entry found;
  found.fault = why;
  return found;
}

}  // namespace

moved_entry move_entry(std::uint64_t address, std::span<const std::uint8_t> function, std::size_t padding) {
  moved_entry found;
  moved_code code(address, found);
  decoder decode;
  std::span<const std::uint8_t> rest = function;
  std::uint64_t at = address;
  bool has_ended = false;
  while (found.replaced < jump_bytes) {
    const bool is_short = rest.empty();
    const cs_insn* const instruction = decode.next(rest, at);
    if (is_short || (has_ended && instruction != nullptr && !is_padding(*instruction)))
      return refused("it is shorter than a jump");
    if (instruction == nullptr) return refused("its first instructions are not known");
    if (is_relative(*instruction)) {
      if (!code.branch(*instruction)) return refused(std::string(instruction->mnemonic) + " cannot be moved");
    } else if (!has_ended) {
      code.copy(*instruction);
    }
    has_ended = has_ended || ends(*instruction);
    found.replaced += instruction->size;
  }
  HEAPLAB_ASSERT(found.replaced <= function.size());
  if (!has_ended) code.go_on_at(at);
  // What is padding is no function's, and no jump leads there.
  rest = function.first(function.size() - std::min(function.size(), padding));
  at = address;
  while (const cs_insn* const instruction = decode.next(rest, at))
    if (leads_into(*instruction, address, found.replaced))
      return refused("it jumps back to its first instructions");
  return found;
}

}  // namespace heaplab::moving
