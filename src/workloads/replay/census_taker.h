// Tells at a census what holds the memory of a replay: of any allocator, by the addresses of the blocks that
// live and the residency of their pages. Allocates nothing from the heap under test.
//
// Memory is split into five parts:
//   live      bytes of blocks, as requested
//   rounding  what malloc_usable_size tells of more, where the allocator has that function
//   pinned    the rest of the pages that hold a block: no allocator can give these pages back
//   retained  pages that held blocks, hold none now, and are resident
//   own       everything else: the allocator's records, stacks of threads
// Pinned bytes of a page are shared equally by the call sites whose blocks it holds: without any one of them
// the page would still be pinned by the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "probes/json_line.h"
#include "probes/off_heap_pages.h"
#include "probes/page_residency.h"
#include "recorded/workload_view.h"
#include "workloads/replay/page_marks.h"
#include "workloads/replay/slot.h"

namespace heaplab::replay {

struct held_memory {
  std::uint64_t live = 0;
  std::uint64_t rounding = 0;
  std::uint64_t pinned = 0;
  std::uint64_t retained = 0;
  std::uint64_t own = 0;
};

// What the blocks of one call site hold.
struct site_holding {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pages = 0;   // bytes of resident pages that hold at least one of its blocks
  std::uint64_t pinned = 0;  // its share of pinned bytes
  // Pinned bytes of the pages that hold blocks of this site and of those before it in the order, and no
  // others.
  std::uint64_t together = 0;
  std::uint64_t ages_us = 0;  // summed
  std::uint64_t oldest_us = 0;
};

// Some pages that follow each other among those that ever held a block, in bytes.
struct map_cell {
  std::uint64_t used = 0;  // by blocks, with rounding
  std::uint64_t pinned = 0;
  std::uint64_t retained = 0;
};

class census_taker {
public:
  static constexpr std::size_t most_sites = 32;    // that are told of a census
  static constexpr std::size_t most_cells = 1024;  // of the map of all pages

  struct manner {
    bool trim = false;     // malloc_trim is called before each census
    bool samples = false;  // those of even moments, which only show the course, are taken too
  };

  census_taker(const recorded::workload_view& work, std::span<const slot> slots, manner how);

  // Bytes of off-heap memory that an object needs.
  static std::size_t bytes_of(const recorded::workload_view& work);

  bool is_at(std::uint32_t epoch) const { return find(epoch) != nullptr; }
  // Hears of each block, also from several threads at a time.
  void filled(const void* block, std::size_t bytes) { marks_.mark(block, bytes); }

  // To be called before memory is read for take().
  void prepare() const;
  // `memory` is what the heap and this object occupy. Precondition: is_at(epoch), no thread calls the heap,
  // and the slots are published to this thread.
  void take(std::uint32_t epoch, std::uint64_t memory);
  // What was told so far: a line of JSON for each census.
  std::string_view text() const { return text_.text(); }

private:
  // A page that a block does not fill, with what it holds of the block.
  struct part {
    std::uintptr_t page;
    std::uint32_t site;
    std::uint32_t wanted;  // bytes, as requested
    std::uint32_t used;    // with rounding
  };
  // Pages that a block fills, from the first to the one behind the last.
  struct filled_pages {
    std::uintptr_t begin;
    std::uintptr_t end;
  };

  const recorded::census* find(std::uint32_t epoch) const;
  void enter(const recorded::survivor& block);
  void enter_part(std::uintptr_t page, std::uintptr_t begin, std::uintptr_t wanted_end,
                  std::uintptr_t used_end, std::uint32_t site);
  void share_pages();
  void share_page(std::span<const part> page);
  static std::uint64_t free_bytes(std::span<const part> page);
  void rank_sites();
  void draw_map(std::size_t resident_pages);
  void tell(const recorded::census& taken, std::uint64_t memory);

  const recorded::workload_view& work_;
  std::span<const slot> slots_;
  page_marks marks_;
  manner how_;
  std::size_t (*usable_size_)(void*);  // null: unknown
  probes::page_residency pages_;
  probes::off_heap_pages memory_;
  std::span<part> parts_;
  std::span<filled_pages> filled_;
  std::span<map_cell> map_;
  std::span<site_holding> sites_;   // by number
  std::span<std::uint32_t> order_;  // numbers of sites, the most pinned bytes first
  std::span<std::uint32_t> rank_;   // places in that order, by number
  std::size_t part_count_ = 0;
  std::size_t filled_count_ = 0;
  std::size_t cell_count_ = 0;
  std::uint64_t with_blocks_ = 0;  // bytes of resident pages with at least one block
  held_memory held_;
  probes::json_line text_;
};

}  // namespace heaplab::replay
