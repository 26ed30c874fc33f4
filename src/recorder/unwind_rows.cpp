#include "recorder/unwind_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace heaplab::recorder {

namespace {

// Numbers of registers in DWARF for x86-64.
enum reg : std::uint64_t { reg_frame_pointer = 6, reg_stack_pointer = 7, reg_return_address = 16 };

// Encodings of pointers: a format, how the number is applied, and whether it is the address of the pointer.
constexpr std::uint8_t format_bits = 0x0F;
constexpr std::uint8_t application_bits = 0x70;
constexpr std::uint8_t relative_to_place = 0x10;
constexpr std::uint8_t place_in_four_bytes = 0x1B;   // relative to its own place, signed
constexpr std::uint8_t four_bytes = 0x03;            // unsigned
constexpr std::uint8_t header_in_four_bytes = 0x3B;  // relative to the header, signed

// Reads from the front of some bytes. After a read beyond the end it has failed, and reads zeroes.
class byte_reader {
public:
  byte_reader(bytes_view bytes, std::uint64_t at) : left_(bytes), at_(at) {}

  bool failed() const { return failed_; }
  bool empty() const { return left_.empty(); }
  std::uint64_t at() const { return at_; }
  bytes_view left() const { return left_; }

  bytes_view take_bytes(std::uint64_t count) {
    if (count > left_.size()) {
      failed_ = true;
      left_ = {};
      return {};
    }
    const bytes_view taken = left_.first(count);
    left_ = left_.subspan(count);
    at_ += count;
    return taken;
  }

  template <class Number>
  Number take() {
    Number number = 0;
    const bytes_view taken = take_bytes(sizeof number);
    if (!failed_) std::memcpy(&number, taken.data(), sizeof number);
    return number;
  }

  std::uint64_t take_uleb() {
    std::uint64_t number = 0;
    std::uint8_t byte = 0x80;
    for (unsigned shift = 0; (byte & 0x80) != 0 && !failed_; shift += 7) {
      byte = take<std::uint8_t>();
      if (shift < 64) number |= std::uint64_t{byte & 0x7FU} << shift;
    }
    return number;
  }

  std::int64_t take_sleb() {
    const bytes_view before = left_;
    std::uint64_t number = take_uleb();
    const std::size_t bytes = before.size() - left_.size();
    const bool negative = !failed_ && (before[bytes - 1] & 0x40) != 0;
    if (negative && bytes * 7 < 64) number |= ~std::uint64_t{0} << bytes * 7;
    return static_cast<std::int64_t>(number);
  }

  // A pointer in a format of fixed size.
  std::uint64_t take_pointer(std::uint8_t encoding) {
    const std::uint64_t place = at_;
    const std::uint64_t number = take_format(encoding & format_bits);
    const std::uint8_t applied = encoding & application_bits;
    if (applied != 0 && applied != relative_to_place) failed_ = true;
    return applied == relative_to_place ? place + number : number;
  }

  std::uint64_t take_format(std::uint8_t format) {
    switch (format) {
      case 0x00:
      case 0x04:
      case 0x0C:
        return take<std::uint64_t>();
      case 0x02:
        return take<std::uint16_t>();
      case 0x03:
        return take<std::uint32_t>();
      case 0x0A:
        return static_cast<std::uint64_t>(take<std::int16_t>());
      case 0x0B:
        return static_cast<std::uint64_t>(take<std::int32_t>());
      default:
        failed_ = true;
        return 0;
    }
  }

private:
  bytes_view left_;
  std::uint64_t at_;
  bool failed_ = false;
};

// What several functions share in .eh_frame: the fields of a Common Information Entry that are used here.
struct shared_part {
  std::uint64_t code_unit = 1;
  std::uint64_t data_unit = 1;  // modulo 2^64
  std::uint8_t pointers = 0;    // encoding of addresses
  bool has_augmentation = false;
  bool is_signal = false;
  byte_reader instructions{{}, 0};
};

// Where the caller's value of a register is.
struct register_rule {
  enum class kind : std::uint8_t { same, at_cfa, at_frame_pointer, undefined, other };
  kind where = kind::same;
  std::int64_t offset = 0;  // from the CFA, or from the frame pointer
};

// Two forms of expressions are understood, those of functions that align their stack: the frame pointer plus
// an offset, and the value stored at that address. Any other gives a rule of kind other.
struct frame_pointer_expression {
  explicit frame_pointer_expression(byte_reader in) {
    constexpr std::uint8_t add_to_frame_pointer = 0x76;
    constexpr std::uint8_t dereference = 0x06;
    const auto first = in.take<std::uint8_t>();
    offset = in.take_sleb();
    dereferences = !in.empty();
    const bool last_is_known = !dereferences || in.take<std::uint8_t>() == dereference;
    is_known = first == add_to_frame_pointer && last_is_known && in.empty() && !in.failed();
  }

  std::int64_t offset;
  bool dereferences;
  bool is_known;
};

struct rules {
  unwind_row::cfa cfa = unwind_row::cfa::unknown;
  std::int64_t offset = 0;  // of the CFA
  register_rule frame_pointer;
  register_rule return_address;

  void set_cfa_register(std::uint64_t number) {
    cfa = number == reg_stack_pointer   ? unwind_row::cfa::stack_pointer
          : number == reg_frame_pointer ? unwind_row::cfa::frame_pointer
                                        : unwind_row::cfa::unknown;
  }

  // Entries of procedure linkage tables have other expressions, but call nothing that returns to them.
  void set_cfa_expression(byte_reader in) {
    const frame_pointer_expression found(in);
    offset = found.offset;
    cfa = found.is_known && found.dereferences ? unwind_row::cfa::at_frame_pointer : unwind_row::cfa::unknown;
  }

  // Null: the register does not matter here.
  register_rule* of(std::uint64_t number) {
    if (number == reg_frame_pointer) return &frame_pointer;
    return number == reg_return_address ? &return_address : nullptr;
  }

  unwind_row row() const {
    using kind = register_rule::kind;
    constexpr std::int64_t word = 8;
    constexpr std::int64_t most_offset = std::numeric_limits<std::int32_t>::max();
    constexpr std::int64_t most_saved = std::numeric_limits<std::int16_t>::max();
    if (return_address.where == kind::undefined) return {.rule = unwind_row::cfa::outermost};
    const bool returns_below_cfa = return_address.where == kind::at_cfa && return_address.offset == -word;
    if (!returns_below_cfa || offset > most_offset || offset < -most_offset) return {};
    unwind_row found{.offset = static_cast<std::int32_t>(offset), .rule = cfa};
    const std::int64_t saved = frame_pointer.offset;
    const kind saved_from = cfa == unwind_row::cfa::at_frame_pointer ? kind::at_frame_pointer : kind::at_cfa;
    if (frame_pointer.where == kind::same)
      found.saved_frame_pointer = unwind_row::not_saved;
    else if (frame_pointer.where == saved_from && saved % word == 0 && saved <= 0 && saved >= -most_saved)
      found.saved_frame_pointer = static_cast<std::int16_t>(saved);
    return found;
  }
};

// The machine whose instructions compose the rules that hold at an address (DWARF 5, section 6.4.2).
class rule_machine {
public:
  rule_machine(const shared_part& shared, std::uint64_t begin, std::uint64_t code)
      : shared_(shared), place_(begin), code_(code) {}

  // False: an instruction is not understood.
  bool run(byte_reader instructions) {
    while (!instructions.empty() && place_ <= code_)
      if (!step(instructions) || instructions.failed()) return false;
    return true;
  }

  void keep_as_initial() { initial_ = now_; }
  const rules& result() const { return now_; }

private:
  using kind = register_rule::kind;
  static constexpr std::size_t deepest = 8;

  bool step(byte_reader& in) {
    const auto byte = in.take<std::uint8_t>();
    const std::uint8_t operand = byte & 0x3F;
    switch (byte >> 6) {
      case 1:
        return advance(operand);
      case 2:
        return set(operand, kind::at_cfa, in.take_uleb() * shared_.data_unit);
      case 3:
        return restore(operand);
      default:
        return step_of_other_kind(operand, in);
    }
  }

  bool step_of_other_kind(std::uint8_t operation, byte_reader& in);
  bool step_of_register(std::uint8_t operation, std::uint64_t number, byte_reader& in);

  bool advance(std::uint64_t units) {
    place_ += units * shared_.code_unit;
    return true;
  }

  bool set(std::uint64_t number, kind where, std::uint64_t offset = 0) {
    if (register_rule* const rule = now_.of(number)) *rule = {where, static_cast<std::int64_t>(offset)};
    return true;
  }

  // The register is stored where an expression says.
  bool set_expression(std::uint64_t number, byte_reader in) {
    const frame_pointer_expression where(in);
    const bool known = where.is_known && !where.dereferences;
    return set(number, known ? kind::at_frame_pointer : kind::other,
               static_cast<std::uint64_t>(where.offset));
  }

  bool restore(std::uint64_t number) {
    if (register_rule* const rule = now_.of(number)) *rule = *initial_.of(number);
    return true;
  }

  bool set_cfa(std::uint64_t number, std::uint64_t offset) {
    now_.set_cfa_register(number);
    return set_cfa_offset(offset);
  }

  bool set_cfa_offset(std::uint64_t offset) {
    now_.offset = static_cast<std::int64_t>(offset);
    return true;
  }

  bool remember() {
    if (depth_ == deepest) return false;
    remembered_[depth_++] = now_;
    return true;
  }

  bool recall() {
    if (depth_ == 0) return false;
    now_ = remembered_[--depth_];
    return true;
  }

  std::uint64_t take_scaled(byte_reader& in) const {
    return static_cast<std::uint64_t>(in.take_sleb()) * shared_.data_unit;
  }

  const shared_part& shared_;
  std::uint64_t place_;
  const std::uint64_t code_;
  rules now_;
  rules initial_;
  rules remembered_[deepest];
  std::size_t depth_ = 0;
};

bool rule_machine::step_of_other_kind(std::uint8_t operation, byte_reader& in) {
  switch (operation) {
    case 0x00:
      return true;  // no operation
    case 0x01:
      place_ = in.take_pointer(shared_.pointers);
      return true;
    case 0x02:
      return advance(in.take<std::uint8_t>());
    case 0x03:
      return advance(in.take<std::uint16_t>());
    case 0x04:
      return advance(in.take<std::uint32_t>());
    case 0x0A:
      return remember();
    case 0x0B:
      return recall();
    case 0x0D:
      now_.set_cfa_register(in.take_uleb());
      return true;
    case 0x0E:
      return set_cfa_offset(in.take_uleb());
    case 0x0F: {
      const std::uint64_t bytes = in.take_uleb();
      now_.set_cfa_expression({in.take_bytes(bytes), 0});
      return true;
    }
    case 0x13:
      return set_cfa_offset(take_scaled(in));
    case 0x2E:
      in.take_uleb();
      return true;  // bytes of arguments on the stack
    default:
      return step_of_register(operation, in.take_uleb(), in);
  }
}

bool rule_machine::step_of_register(std::uint8_t operation, std::uint64_t number, byte_reader& in) {
  switch (operation) {
    case 0x05:  // offset, extended
      return set(number, kind::at_cfa, in.take_uleb() * shared_.data_unit);
    case 0x06:
      return restore(number);
    case 0x07:
      return set(number, kind::undefined);
    case 0x08:
      return set(number, kind::same);
    case 0x0C:
      return set_cfa(number, in.take_uleb());
    case 0x10:
      return set_expression(number, {in.take_bytes(in.take_uleb()), 0});
    case 0x11:
      return set(number, kind::at_cfa, take_scaled(in));
    case 0x12:
      return set_cfa(number, take_scaled(in));
    case 0x09:  // in another register
    case 0x14:  // the value is the CFA and an offset
    case 0x15:
      in.take_uleb();
      return set(number, kind::other);
    default:
      return false;
  }
}

// An entry of .eh_frame: what follows its length, up to its end. Failed: there is none.
byte_reader entry_at(const unwind_table& table, std::uint64_t at) {
  const std::uint64_t place = at - table.frames_at;
  byte_reader rest(table.frames.subspan(std::min<std::uint64_t>(place, table.frames.size())), at);
  const auto bytes = rest.take<std::uint32_t>();  // 0xFFFFFFFF, of entries beyond 4 GiB, does not fit
  const std::uint64_t begin = rest.at();
  return {rest.take_bytes(bytes), begin};
}

bool read_shared(byte_reader in, shared_part& found) {
  const auto id = in.take<std::uint32_t>();
  const auto version = in.take<std::uint8_t>();
  if (in.failed() || id != 0 || (version != 1 && version != 3)) return false;
  constexpr std::size_t most_letters = 8;
  char letters[most_letters + 1] = {};
  std::size_t count = 0;
  while ((letters[count] = static_cast<char>(in.take<std::uint8_t>())) != 0)
    if (++count > most_letters - 1) return false;
  found.code_unit = in.take_uleb();
  found.data_unit = static_cast<std::uint64_t>(in.take_sleb());
  const std::uint64_t column = version == 1 ? in.take<std::uint8_t>() : in.take_uleb();
  if (column != reg_return_address) return false;
  if (count != 0 && letters[0] != 'z') return false;
  if (count != 0) {
    found.has_augmentation = true;
    const std::uint64_t bytes = in.take_uleb();
    byte_reader data(in.take_bytes(bytes), in.at() - bytes);
    for (const char* letter = letters + 1; *letter != 0; ++letter) {
      if (*letter == 'R')
        found.pointers = data.take<std::uint8_t>();
      else if (*letter == 'L')
        data.take<std::uint8_t>();
      else if (*letter == 'P')
        data.take_format(data.take<std::uint8_t>() & format_bits);
      else if (*letter == 'S')
        found.is_signal = true;
      else
        return false;
    }
    if (data.failed()) return false;
  }
  found.instructions = in;
  return !in.failed();
}

}  // namespace

bool unwind_table::read_head(bytes_view head, std::uint64_t header_at, extent& found) {
  byte_reader in(head, header_at);
  const auto version = in.take<std::uint8_t>();
  const auto frames = in.take<std::uint8_t>();
  const auto count = in.take<std::uint8_t>();
  const auto entries = in.take<std::uint8_t>();
  found.frames_at = in.take_pointer(frames);
  found.functions = in.take<std::uint32_t>();
  return !in.failed() && version == 1 && frames == place_in_four_bytes && count == four_bytes &&
         entries == header_in_four_bytes;
}

namespace {

// An entry of the table of functions, relative to the header.
struct function_entry {
  std::int32_t begin;
  std::int32_t frame;
};
static_assert(sizeof(function_entry) == unwind_table::entry_bytes);

std::size_t functions_in(bytes_view header) {
  return header.size() < unwind_table::head_bytes
             ? 0
             : (header.size() - unwind_table::head_bytes) / sizeof(function_entry);
}

function_entry function_at(bytes_view header, std::size_t number) {
  function_entry found;
  std::memcpy(&found, header.data() + unwind_table::head_bytes + number * sizeof found, sizeof found);
  return found;
}

}  // namespace

std::uint64_t unwind_table::last_frame(bytes_view header, std::uint64_t header_at) {
  std::uint64_t last = 0;
  for (std::size_t number = 0; number < functions_in(header); ++number)
    last = std::max(last, header_at + static_cast<std::uint64_t>(function_at(header, number).frame));
  return last;
}

unwind_row unwind_table::row_of(std::uint64_t code) const {
  std::size_t low = 0;
  std::size_t high = functions_in(header);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (header_at + static_cast<std::uint64_t>(function_at(header, middle).begin) <= code)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return {};
  byte_reader own =
      entry_at(*this, header_at + static_cast<std::uint64_t>(function_at(header, low - 1).frame));
  const std::uint64_t id_at = own.at();
  const auto distance = own.take<std::uint32_t>();
  shared_part shared;
  if (own.failed() || distance == 0 || !read_shared(entry_at(*this, id_at - distance), shared)) return {};
  const std::uint64_t begin = own.take_pointer(shared.pointers);
  const std::uint64_t bytes = own.take_format(shared.pointers & format_bits);
  if (shared.has_augmentation) own.take_bytes(own.take_uleb());
  if (own.failed() || code - begin >= bytes) return {};
  if (shared.is_signal) return {.rule = unwind_row::cfa::signal};
  rule_machine machine(shared, begin, code);
  if (!machine.run(shared.instructions)) return {};
  machine.keep_as_initial();
  return machine.run(own) ? machine.result().row() : unwind_row{};
}

}  // namespace heaplab::recorder
