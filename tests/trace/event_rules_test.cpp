// Nonsense with right checksums: what a trace says is refused where it can mean nothing, and the fault is
// named.
#include "trace/file/event_rules.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/scratch_folder.h"
#include "trace/file/event_columns.h"
#include "trace/file/event_stream.h"
#include "trace/file/frame.h"
#include "trace/file/trace_writer.h"
#include "trace/file/varint.h"
#include "trace/random_events.h"

namespace heaplab::trace {
namespace {

// The frames of a trace file, to be changed and written again with right checksums and a right index.
class resigned {
public:
  struct part {
    frame_header header;
    bytes payload;
    // What the index tells of the frame, where that is not what the header tells.
    std::uint32_t index_count = 0;
  };

  // Precondition: a whole file.
  explicit resigned(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(stream)), {});
    std::memcpy(&head_, whole.data(), sizeof head_);
    for (std::size_t at = sizeof head_;;) {
      part found;
      std::memcpy(&found.header, whole.data() + at, sizeof found.header);
      if (found.header.type == frame_type::index) break;
      at += sizeof found.header;
      found.payload.resize(found.header.plain_bytes);
      if (found.header.codec == codec::stored)
        std::memcpy(found.payload.data(), whole.data() + at, found.payload.size());
      else
        ZSTD_decompress(found.payload.data(), found.payload.size(), whole.data() + at,
                        found.header.packed_bytes);
      at += found.header.packed_bytes;
      parts.push_back(std::move(found));
    }
  }

  part& of(frame_type type) {
    for (part& piece : parts)
      if (piece.header.type == type) return piece;
    return parts.emplace_back();
  }

  void write(const std::string& path) const {
    std::string whole(reinterpret_cast<const char*>(&head_), sizeof head_);
    std::vector<index_entry> index;
    for (const part& piece : parts) {
      index.push_back({whole.size(), piece.header.first, piece.header.first_stamp, piece.header.process,
                       piece.index_count != 0 ? piece.index_count : piece.header.count,
                       static_cast<std::uint32_t>(piece.payload.size()),
                       static_cast<std::uint16_t>(piece.header.type), 0});
      add(whole, piece.header, piece.payload);
    }
    file_trailer trailer{whole.size(), 0, trailer_magic};
    trailer.crc = crc_of(trailer);
    frame_header header{};
    header.type = frame_type::index;
    header.count = static_cast<std::uint32_t>(index.size());
    const auto* const entries = reinterpret_cast<const std::uint8_t*>(index.data());
    add(whole, header, {entries, entries + index.size() * sizeof(index_entry)});
    whole.append(reinterpret_cast<const char*>(&trailer), sizeof trailer);
    std::ofstream(path, std::ios::binary) << whole;
  }

  std::vector<part> parts;

private:
  static void add(std::string& whole, frame_header header, const bytes& payload) {
    header.magic = frame_magic;
    header.codec = codec::stored;
    header.packed_bytes = header.plain_bytes = static_cast<std::uint32_t>(payload.size());
    header.payload_crc = crc32(payload);
    header.header_crc = crc_of(header);
    whole.append(reinterpret_cast<const char*>(&header), sizeof header);
    whole.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  }

  file_header head_{};
};

constexpr std::size_t event_count = 40;
constexpr std::uint32_t site_count = 3;

class event_rules_test : public ::testing::Test {
protected:
  event_rules_test() {
    properties of, summary;
    of.set("pid", 1);
    of.set("stamps", "tsc");
    of.set("ticks_per_second", 1000);
    summary.set("events", event_count);
    trace_writer to(path_);
    to.begin_process(of);
    for (std::uint64_t site = 1; site <= site_count; ++site) to.add_site({{0x400000 + site, 0x500000}});
    to.add_lived(lived());
    for (const event& e : events()) to.add(e);
    to.add_modules("400000-500000 0 /program\n");
    to.add_build_ids("400000 c0ffee\n");
    to.add_names("400001 main\n");
    to.end_process(summary);
    to.close();
    whole_.emplace(path_);
  }

  static std::vector<event> events() { return random_events(event_count, 1, site_count); }
  static std::vector<event> lived() {
    return {{.stamp = 1, .address = 16, .size = 8, .thread = 0, .site = 1, .kind = kind::malloc},
            {.stamp = 1, .address = 32, .size = 8, .thread = 0, .site = 2, .kind = kind::calloc}};
  }

  // Reads the whole file, calls `seen` with every event, and returns the faults that the reader names.
  std::vector<std::string> read(const std::function<void(const event&)>& seen = [](const event&) {}) {
    trace_file file(path_);
    for (std::uint32_t process = 0; process < file.processes().size(); ++process) {
      const site_table table(file, process);
      each_lived(file, process, [](const event&) {});
      file.modules(process);
      file.build_ids(process);
      file.names(process);
      event_stream stream(file, process);
      std::uint64_t stamp = 0;
      for (event e; stream.next(e);) {
        table.frames_of(e.site);
        EXPECT_GE(e.stamp, stamp);
        stamp = e.stamp;
        seen(e);
      }
      lost_ = stream.lost();
    }
    return file.damage();
  }

  // The one thing that is said of the file after `change`.
  std::string fault_after(const std::function<void(resigned&)>& change) {
    resigned file = *whole_;
    change(file);
    file.write(path_);
    const std::vector<std::string> damage = read();
    EXPECT_EQ(damage.size(), 1U) << ::testing::PrintToString(damage);
    return damage.empty() ? "" : damage.front();
  }

  // The same where the part of a type holds this text.
  std::string fault_with_text(frame_type type, std::string_view text) {
    return fault_after([&](resigned& file) { file.of(type).payload.assign(text.begin(), text.end()); });
  }

  // The same after a change of the events; none of their frame is given.
  std::string fault_in_events(const std::function<void(std::vector<event>&)>& change) {
    const std::string fault = fault_after([&](resigned& file) {
      std::vector<event> changed = events();
      change(changed);
      resigned::part& part = file.of(frame_type::events);
      part.header.count = static_cast<std::uint32_t>(changed.size());
      part.payload = encode_unchecked(changed);
    });
    EXPECT_EQ(lost_, event_count);
    EXPECT_TRUE(fault.ends_with(": 40 events are lost")) << fault;
    return fault;
  }

  // As encode_events, which may be given no stamps that descend: their differences are written modulo 2^64.
  static bytes encode_unchecked(std::vector<event> changed) {
    std::array<bytes, 7> columns;
    event before{.stamp = changed.front().stamp};
    for (const event& e : changed) {
      const auto code = static_cast<std::uint8_t>(e.kind);
      columns[0].push_back(static_cast<std::uint8_t>(code | (e.alignment_log2 != 0 ? 0x80 : 0)));
      put_varint(columns[1], e.thread);
      put_varint(columns[1], 1);
      put_varint(columns[2], e.stamp - before.stamp);
      put_varint(columns[3], zigzag(e.address - before.address));
      const bool unsized = e.kind == kind::free || e.kind == kind::realloc_from ||
                           e.kind == kind::thread_end || e.kind == kind::delete_object ||
                           e.kind == kind::delete_array;
      if (!unsized) put_varint(columns[4], e.size);
      if (e.alignment_log2 != 0) columns[5].push_back(e.alignment_log2);
      put_varint(columns[6], e.site);
      before = e;
    }
    bytes whole;
    for (const bytes& column : columns) put_varint(whole, column.size());
    for (const bytes& column : columns) whole.insert(whole.end(), column.begin(), column.end());
    return whole;
  }

  testing::scratch_folder folder_;
  std::string path_ = folder_ / "x.trace";
  std::optional<resigned> whole_;
  std::uint64_t lost_ = 0;
};

bool says(const std::string& fault, const char* part) {
  return fault.find(part) != std::string::npos;
}

TEST_F(event_rules_test, nonsense_is_not_in_a_file_as_it_was_written) {
  std::vector<event> found;
  EXPECT_TRUE(read([&](const event& e) { found.push_back(e); }).empty());
  EXPECT_EQ(found, events());
  whole_->write(path_);
  EXPECT_TRUE(read().empty());
}

TEST_F(event_rules_test, nonsense_of_stamps_that_descend) {
  EXPECT_TRUE(says(fault_in_events([](auto& all) { all[20].stamp = all[19].stamp - 1; }), "behind stamp"));
}

TEST_F(event_rules_test, nonsense_of_threads) {
  EXPECT_TRUE(says(fault_in_events([](auto& all) { all[20].thread = 0; }), "by thread 0"));
  EXPECT_TRUE(says(fault_in_events([](auto& all) { all[20].thread = 77; }), "by thread 77"));
  EXPECT_TRUE(says(fault_in_events([](auto& all) {
                     all[39] = {.stamp = all[38].stamp, .thread = 1, .kind = kind::thread_begin};
                   }),
                   "event 39: thread_begin of thread 1, which has events before"));
  const auto about = [](auto& all) {
    all[39] = {.stamp = all[38].stamp, .address = 1ULL << 40, .thread = 1, .kind = kind::thread_join};
  };
  EXPECT_TRUE(says(fault_in_events(about), "thread_join about thread 1099511627776"));
}

TEST_F(event_rules_test, nonsense_of_call_sites) {
  EXPECT_TRUE(says(fault_in_events([](auto& all) { all[39].site = 4; }), "at call site 4, and there are 3"));
}

TEST_F(event_rules_test, nonsense_of_blocks) {
  const auto with = [](event e) {
    return [e](auto& all) {
      const std::uint64_t stamp = all[38].stamp;
      all[39] = e;
      all[39].stamp = stamp;
    };
  };
  event e{.address = 0, .thread = 1, .kind = kind::free};
  EXPECT_TRUE(says(fault_in_events(with(e)), "event 39: free of address 0"));
  e = {.address = 1ULL << 60, .thread = 1, .kind = kind::free};
  EXPECT_TRUE(says(fault_in_events(with(e)), "where no address space is"));
  e = {.address = 16, .size = 1ULL << 60, .thread = 1, .kind = kind::malloc};
  EXPECT_TRUE(says(fault_in_events(with(e)), "malloc of 1152921504606846976 bytes at address 16"));
  e = {.address = 16, .size = 8, .thread = 1, .kind = kind::memalign, .alignment_log2 = 60};
  EXPECT_TRUE(says(fault_in_events(with(e)), "aligned to 2^60"));
  e = {.address = 16, .thread = 1, .kind = static_cast<kind>(80)};
  EXPECT_TRUE(says(fault_in_events(with(e)), "event 39: an event of kind 80"));
}

TEST_F(event_rules_test, nonsense_of_numbers_and_counts) {
  EXPECT_TRUE(says(fault_after([](resigned& file) { file.of(frame_type::events).header.count = 39; }),
                   "its columns are not those of 39 events"));
}

TEST_F(event_rules_test, nonsense_of_frames_out_of_order) {
  const std::string fault = fault_after([](resigned& file) {
    resigned::part again = file.of(frame_type::events);
    again.header.first = 7;
    file.parts.push_back(again);
  });
  EXPECT_TRUE(says(fault, "its first event is number 7, and 40 are before")) << fault;
}

TEST_F(event_rules_test, nonsense_of_processes) {
  const std::string fault = fault_after([](resigned& file) {
    file.parts.push_back(file.of(frame_type::names));
    file.parts.back().header.process = 7;
  });
  EXPECT_TRUE(says(fault, "it is of process 7, and 1 are before")) << fault;
}

TEST_F(event_rules_test, nonsense_of_an_index_that_tells_other_things) {
  EXPECT_TRUE(says(fault_after([](resigned& file) { file.of(frame_type::events).index_count = 41; }),
                   "its header and the index tell different things"));
}

TEST_F(event_rules_test, nonsense_of_lived_blocks) {
  for (const auto change : {+[](std::vector<event>& all) { all[1].address = 16; },
                            +[](std::vector<event>& all) { all[1].thread = 1; },
                            +[](std::vector<event>& all) { all[1].kind = kind::free; },
                            +[](std::vector<event>& all) { all[1].site = 9; }})
    EXPECT_TRUE(says(fault_after([&](resigned& file) {
                       std::vector<event> changed = lived();
                       change(changed);
                       file.of(frame_type::lived).payload = encode_unchecked(changed);
                     }),
                     "its blocks are no acquisitions by thread 0"));
}

TEST_F(event_rules_test, nonsense_of_sites) {
  EXPECT_TRUE(says(fault_after([](resigned& file) { file.of(frame_type::sites).payload.push_back(0); }),
                   "it does not hold call sites 1 to 3"));
  EXPECT_TRUE(says(fault_after([](resigned& file) { file.of(frame_type::sites).header.first = 1U << 31; }),
                   "its first call site is number 2147483648, and 0 are before"));
}

TEST_F(event_rules_test, nonsense_of_texts) {
  for (const char* const line : {"500000-400000 0 /x", "400000 0 /x", "nothing", "400000-500000 0 ", "-"})
    EXPECT_TRUE(says(fault_with_text(frame_type::modules, line), line)) << line;
  for (const char* const line : {"400000", "400000 ", "400000 xy", "400000 c0ffe"})
    EXPECT_TRUE(says(fault_with_text(frame_type::build_ids, line), line)) << line;
  EXPECT_TRUE(says(fault_with_text(frame_type::names, "main"), "its line 'main' has another form"));
}

TEST_F(event_rules_test, nonsense_of_properties) {
  EXPECT_TRUE(says(fault_with_text(frame_type::process, "ticks_per_second=often\n"),
                   "ticks_per_second is 'often', which is no number"));
  EXPECT_TRUE(says(fault_with_text(frame_type::process, "stamps=guesses\n"), "stamps are 'guesses'"));
  EXPECT_TRUE(says(fault_with_text(frame_type::summary, "events=39\n"), "tells events 39, and there are 40"));
  EXPECT_TRUE(says(fault_with_text(frame_type::summary, "events=40\nreleases=999\n"), "tells releases 999"));
}

// Whatever stands there: a reader survives, and gives only events that can be.
TEST_F(event_rules_test, nonsense_of_any_kind_is_survived) {
  std::mt19937_64 random(11);
  for (int attempt = 0; attempt < 1500; ++attempt) {
    resigned file = *whole_;
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      resigned::part& part = file.parts[random() % file.parts.size()];
      const std::uint64_t value = random() >> (random() % 64);
      const std::function<void()> header_changes[] = {
          [&] { part.header.count = static_cast<std::uint32_t>(value); },
          [&] { part.header.first = value; },
          [&] { part.header.first_stamp = value; },
          [&] { part.header.process = static_cast<std::uint32_t>(value); },
          [&] { part.header.type = static_cast<frame_type>(value % 12); },
          [&] { part.index_count = static_cast<std::uint32_t>(value); },
          [&] { std::swap(part, file.parts[random() % file.parts.size()]); }};
      const std::uint64_t what = random() % 12;
      if (what < std::size(header_changes))
        header_changes[what]();
      else if (!part.payload.empty())
        part.payload[random() % part.payload.size()] = static_cast<std::uint8_t>(value);
    }
    file.write(path_);
    read([](const event& e) {
      ASSERT_TRUE(is_known(e.kind));
      ASSERT_GE(e.thread, 1U);
      ASSERT_TRUE(!is_release(e.kind) || (e.address != 0 && e.address < address_space));
      ASSERT_TRUE(!is_acquisition(e.kind) || e.address == 0 || e.address + e.size <= address_space);
    });
  }
}

}  // namespace
}  // namespace heaplab::trace
