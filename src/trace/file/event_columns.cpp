#include "trace/file/event_columns.h"

#include <array>
#include <cstdint>

#include "base/assertion.h"

namespace heaplab::trace {

namespace {

// In the order of the file. Column `kinds` holds one byte for each event: the kind, with the high bit set if
// the event has an alignment. Column `threads` holds pairs: a thread and the number of its consecutive
// events.
enum column : std::uint8_t { kinds, threads, stamps, addresses, sizes, alignments, sites, columns };
constexpr std::uint8_t has_alignment = 0x80;

// Kinds with a size in the table of docs/trace-format.md.
constexpr bool has_size(kind k) {
  switch (k) {
    case kind::free:
    case kind::realloc_from:
    case kind::reallocarray_from:
    case kind::delete_object:
    case kind::delete_array:
    case kind::thread_end:
      return false;
    default:
      return true;
  }
}

class encoder {
public:
  void add(const event& e) {
    HEAPLAB_ASSERT(e.stamp >= stamp_);
    const bool aligned = e.alignment_log2 != 0;
    out_[kinds].push_back(static_cast<std::uint8_t>(e.kind) | (aligned ? has_alignment : 0));
    if (e.thread != thread_) end_run(e.thread);
    ++run_;
    put_varint(out_[stamps], e.stamp - stamp_);
    put_varint(out_[addresses], zigzag(e.address - address_));
    if (has_size(e.kind)) put_varint(out_[sizes], e.size);
    if (aligned) out_[alignments].push_back(e.alignment_log2);
    put_varint(out_[sites], e.site);
    stamp_ = e.stamp;
    address_ = e.address;
  }

  explicit encoder(std::uint64_t first_stamp) : stamp_(first_stamp) {}

  bytes finish() {
    end_run(0);
    bytes whole;
    for (const bytes& column : out_) put_varint(whole, column.size());
    for (const bytes& column : out_) whole.insert(whole.end(), column.begin(), column.end());
    return whole;
  }

private:
  void end_run(std::uint32_t next) {
    if (run_ != 0) {
      put_varint(out_[threads], thread_);
      put_varint(out_[threads], run_);
    }
    thread_ = next;
    run_ = 0;
  }

  std::array<bytes, columns> out_;
  std::uint64_t stamp_;
  std::uint64_t address_ = 0;
  std::uint32_t thread_ = 0;
  std::uint64_t run_ = 0;
};

// Splits a payload into columns; false if their lengths do not add up to the payload.
bool split(std::span<const std::uint8_t> payload, std::array<column_reader, columns>& in) {
  column_reader head(payload);
  std::array<std::uint64_t, columns> lengths{};
  std::size_t head_bytes = 0;
  for (std::uint64_t& length : lengths) {
    length = head.varint();
    if (!head.intact() || length > payload.size()) return false;
    for (std::uint64_t rest = length; head_bytes += 1, rest >= 0x80;) rest >>= 7;
  }
  std::span<const std::uint8_t> rest = payload.subspan(head_bytes);
  for (int column = 0; column < columns; ++column) {
    const auto length = static_cast<std::size_t>(lengths[column]);
    if (length > rest.size()) return false;
    in[column] = column_reader(rest.first(length));
    rest = rest.subspan(length);
  }
  return rest.empty();
}

class decoder {
public:
  decoder(std::array<column_reader, columns>& in, std::uint64_t first_stamp) : in_(in), stamp_(first_stamp) {}

  // False: a run has no events, or a number is too large for what it numbers.
  bool next(event& e) {
    const std::uint8_t code = in_[kinds].byte();
    e.kind = static_cast<kind>(code & ~has_alignment);
    if (run_ == 0) {
      thread_ = in_[threads].varint();
      run_ = in_[threads].varint();
    }
    if (run_-- == 0 || thread_ > UINT32_MAX) return false;
    e.thread = static_cast<std::uint32_t>(thread_);
    e.stamp = stamp_ += in_[stamps].varint();
    e.address = address_ += unzigzag(in_[addresses].varint());
    e.size = has_size(e.kind) ? in_[sizes].varint() : 0;
    e.alignment_log2 = (code & has_alignment) != 0 ? in_[alignments].byte() : 0;
    const std::uint64_t site = in_[sites].varint();
    e.site = static_cast<std::uint32_t>(site);
    return site <= UINT32_MAX;
  }

  bool complete() const {
    for (const column_reader& column : in_)
      if (!column.intact() || !column.finished()) return false;
    return run_ == 0;
  }

private:
  std::array<column_reader, columns>& in_;
  std::uint64_t stamp_;
  std::uint64_t address_ = 0;
  std::uint64_t thread_ = 0;
  std::uint64_t run_ = 0;
};

}  // namespace

bytes encode_events(std::span<const event> events) {
  encoder to(events.empty() ? 0 : events.front().stamp);
  for (const event& e : events) to.add(e);
  return to.finish();
}

bool decode_events(std::span<const std::uint8_t> payload, std::uint32_t count, std::uint64_t first_stamp,
                   std::vector<event>& events) {
  events.clear();
  if (count > payload.size()) return false;  // each event takes several bytes
  std::array<column_reader, columns> in;
  if (!split(payload, in)) return false;
  events.resize(count);
  decoder from(in, first_stamp);
  for (event& e : events)
    if (!from.next(e)) return false;
  return from.complete();
}

}  // namespace heaplab::trace
