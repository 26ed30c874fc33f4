#include "trace/profile/rows.h"

#include <vector>

#include "trace/file/event_stream.h"
#include "trace/file/trace_error.h"
#include "trace/profile/live_blocks.h"

namespace heaplab::trace {

namespace {

template <class Row>
class row_writer {
public:
  explicit row_writer(std::FILE* to) : to_(to) { rows_.reserve(at_once); }

  void add(const Row& row) {
    rows_.push_back(row);
    if (rows_.size() == at_once) flush();
  }

  void flush() {
    if (std::fwrite(rows_.data(), sizeof(Row), rows_.size(), to_) != rows_.size())
      throw trace_error("standard output", "takes no more rows");
    rows_.clear();
  }

private:
  static constexpr std::size_t at_once = 1 << 12;
  std::FILE* to_;
  std::vector<Row> rows_;
};

block_row row_of(std::uint32_t process, const live_block& block, const event& release) {
  return {.acquired = block.acquired,
          .released = release.stamp,
          .address = block.address,
          .size = block.size,
          .process = process,
          .thread = block.thread,
          .site = block.site,
          .releasing_thread = release.thread,
          .releasing_site = release.site,
          .growths = block.growths,
          .kind = static_cast<std::uint8_t>(block.kind),
          .releasing_kind = static_cast<std::uint8_t>(release.kind),
          .alignment_log2 = block.alignment_log2,
          .unused = {}};
}

}  // namespace

void write_event_rows(trace_file& file, std::uint32_t process, std::FILE* to) {
  event_stream events(file, process);
  row_writer<event_row> out(to);
  for (auto frame = events.next_frame(); !frame.empty(); frame = events.next_frame()) {
    std::uint64_t number = events.first();
    for (const event& e : frame)
      out.add({.number = number++,
               .stamp = e.stamp,
               .address = e.address,
               .size = e.size,
               .process = process,
               .thread = e.thread,
               .site = e.site,
               .kind = static_cast<std::uint8_t>(e.kind),
               .alignment_log2 = e.alignment_log2,
               .unused = 0});
  }
  out.flush();
}

void write_block_rows(trace_file& file, std::uint32_t process, std::FILE* to) {
  event_stream events(file, process);
  row_writer<block_row> out(to);
  block_lives blocks;
  const auto see = [&](const event& e) {
    blocks.see(
        e, [](const live_block&, const live_block*) {},
        [&](const live_block& block, const event* release) {
          out.add(row_of(process, block, release != nullptr ? *release : event{}));
        });
  };
  each_lived(file, process, see);
  for (event e; events.next(e);) see(e);
  blocks.each([&](const live_block& block) { out.add(row_of(process, block, {})); });
  out.flush();
}

bool read_event_row(std::FILE* from, event& e) {
  event_row row;
  const std::size_t got = std::fread(&row, 1, sizeof row, from);
  if (got == 0) return false;
  if (got != sizeof row) throw trace_error("standard input", "ends within a row");
  e = {.stamp = row.stamp,
       .address = row.address,
       .size = row.size,
       .thread = row.thread,
       .site = row.site,
       .kind = static_cast<kind>(row.kind),
       .alignment_log2 = row.alignment_log2};
  return true;
}

}  // namespace heaplab::trace
