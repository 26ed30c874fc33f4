#include "workloads/replay/census_taker.h"

#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/assertion.h"
#include "base/bits.h"
#include "base/os_pages.h"
#include "probes/served_by.h"

namespace heaplab::replay {

namespace {

using probes::off_heap_pages;

constexpr std::string_view names[] = {"sample", "trough", "peak", "end"};

std::size_t most_survivors(const recorded::workload_view& work) {
  std::uint64_t most = 0;
  for (const recorded::census& taken : work.censuses()) most = std::max(most, taken.survivors);
  return static_cast<std::size_t>(most);
}

// malloc_usable_size, unless another library has it than malloc: it would look at blocks that are not its
// own.
std::size_t (*usable_size_of_malloc())(void*) {
  const char* const name = "malloc_usable_size";
  const probes::loaded_library malloc = probes::library_of_symbol("malloc");
  const bool same = std::strcmp(malloc.path, probes::library_of_symbol(name).path) == 0;
  return same ? reinterpret_cast<std::size_t (*)(void*)>(::dlsym(RTLD_DEFAULT, name)) : nullptr;
}

}  // namespace

census_taker::census_taker(const recorded::workload_view& work, std::span<const slot> slots, manner how)
    : work_(work),
      slots_(slots),
      how_(how),
      usable_size_(usable_size_of_malloc()),
      memory_(bytes_of(work)),
      parts_(memory_.array<part>(2 * most_survivors(work))),
      filled_(memory_.array<filled_pages>(most_survivors(work))),
      map_(memory_.array<map_cell>(most_cells)),
      sites_(memory_.array<site_holding>(work.head().sites + 1)),
      order_(memory_.array<std::uint32_t>(work.head().sites + 1)),
      rank_(memory_.array<std::uint32_t>(work.head().sites + 1)) {}

std::size_t census_taker::bytes_of(const recorded::workload_view& work) {
  const std::size_t sites = work.head().sites + 1;
  return off_heap_pages::needed<part>(2 * most_survivors(work)) +
         off_heap_pages::needed<filled_pages>(most_survivors(work)) +
         off_heap_pages::needed<map_cell>(most_cells) + off_heap_pages::needed<site_holding>(sites) +
         2 * off_heap_pages::needed<std::uint32_t>(sites);
}

const recorded::census* census_taker::find(std::uint32_t epoch) const {
  for (const recorded::census& taken : work_.censuses())
    if (taken.epoch == epoch)
      return how_.samples || taken.why != recorded::occasion::sample ? &taken : nullptr;
  return nullptr;
}

void census_taker::prepare() const {
  if (how_.trim) ::malloc_trim(0);
}

void census_taker::take(std::uint32_t epoch, std::uint64_t memory) {
  HEAPLAB_ASSERT(is_at(epoch));
  const recorded::census& taken = *find(epoch);
  const std::size_t own = marks_.resident_bytes() + align_up(text_.text().size(), os_pages::page_bytes());
  memory -= std::min<std::uint64_t>(memory, own);
  part_count_ = filled_count_ = 0;
  with_blocks_ = 0;
  held_ = {};
  std::fill(sites_.begin(), sites_.end(), site_holding{});
  pages_.look_again();
  for (const recorded::survivor& block : work_.survivors_of(taken)) enter(block);
  share_pages();
  std::uint64_t held = 0;
  marks_.each([&](std::uintptr_t page) { held += pages_.is_resident(page) ? os_pages::page_bytes() : 0; });
  HEAPLAB_ASSERT(held >= with_blocks_);
  held_.retained = held - with_blocks_;
  held_.own = memory - std::min(memory, held);
  draw_map(held / os_pages::page_bytes());
  tell(taken, memory);
}

// Only the first and the last page of a block may hold others. Those between are the block's own.
void census_taker::enter(const recorded::survivor& block) {
  // relaxed: the arrival of all threads at the epoch has published the slots.
  void* const start = slots_[block.slot].load(std::memory_order_relaxed);
  HEAPLAB_ASSERT(start != nullptr);
  const bool tells_size = usable_size_ != nullptr && !block.is_apart;
  const std::uint64_t used =
      tells_size ? std::max<std::uint64_t>(block.bytes, usable_size_(start)) : block.bytes;
  marks_.mark(start, used);

  site_holding& of = sites_[block.site];
  ++of.blocks;
  of.bytes += block.bytes;
  of.ages_us += block.age_us;
  of.oldest_us = std::max(of.oldest_us, block.age_us);

  const std::size_t page_bytes = os_pages::page_bytes();
  const auto begin = reinterpret_cast<std::uintptr_t>(start);
  const std::uintptr_t wanted_end = begin + block.bytes;
  const std::uintptr_t used_end = begin + used;
  const std::uintptr_t first = begin / page_bytes;
  const std::uintptr_t last = (used == 0 ? begin : used_end - 1) / page_bytes;
  enter_part(first, begin, wanted_end, used_end, block.site);
  if (last == first) return;
  enter_part(last, last * page_bytes, std::max(wanted_end, last * page_bytes), used_end, block.site);
  filled_[filled_count_++] = {first + 1, last};
  const std::uintptr_t wanted_pages = std::clamp(wanted_end / page_bytes, first + 1, last) - (first + 1);
  const std::uint64_t wanted = pages_.resident(first + 1, wanted_pages) * page_bytes;
  const std::uint64_t whole = pages_.resident(first + 1, last - first - 1) * page_bytes;
  held_.live += wanted;
  held_.rounding += whole - wanted;
  with_blocks_ += whole;
  of.pages += whole;
}

void census_taker::enter_part(std::uintptr_t page, std::uintptr_t begin, std::uintptr_t wanted_end,
                              std::uintptr_t used_end, std::uint32_t site) {
  const std::uintptr_t page_end = (page + 1) * os_pages::page_bytes();
  parts_[part_count_++] = {.page = page,
                           .site = site,
                           .wanted = static_cast<std::uint32_t>(std::min(wanted_end, page_end) - begin),
                           .used = static_cast<std::uint32_t>(std::min(used_end, page_end) - begin)};
}

void census_taker::share_pages() {
  const std::span<part> parts = parts_.first(part_count_);
  std::sort(parts.begin(), parts.end(), [](const part& left, const part& right) {
    return left.page != right.page ? left.page < right.page : left.site < right.site;
  });
  const auto each_page = [&](auto visit) {
    for (std::size_t at = 0; at < parts.size();) {
      std::size_t end = at;
      while (end < parts.size() && parts[end].page == parts[at].page) ++end;
      if (pages_.is_resident(parts[at].page)) visit(parts.subspan(at, end - at));
      at = end;
    }
  };
  each_page([this](std::span<const part> page) { share_page(page); });
  rank_sites();
  each_page([this](std::span<const part> page) {
    std::uint32_t last = 0;
    for (const part& piece : page) last = std::max(last, rank_[piece.site]);
    sites_[order_[last]].together += free_bytes(page);
  });
  for (std::size_t place = 1; place < order_.size(); ++place)
    sites_[order_[place]].together += sites_[order_[place - 1]].together;
}

std::uint64_t census_taker::free_bytes(std::span<const part> page) {
  std::uint64_t used = 0;
  for (const part& piece : page) used += piece.used;
  return os_pages::page_bytes() - std::min<std::uint64_t>(used, os_pages::page_bytes());
}

void census_taker::share_page(std::span<const part> page) {
  const std::uint64_t free = free_bytes(page);
  std::uint64_t wanted = 0;
  std::size_t sharers = 0;
  for (std::size_t at = 0; at < page.size(); ++at) {
    wanted += page[at].wanted;
    sharers += at == 0 || page[at].site != page[at - 1].site ? 1 : 0;
  }
  for (std::size_t at = 0; at < page.size(); ++at) {
    if (at != 0 && page[at].site == page[at - 1].site) continue;
    sites_[page[at].site].pages += os_pages::page_bytes();
    sites_[page[at].site].pinned += free / sharers;
  }
  const std::uint64_t taken = os_pages::page_bytes() - free;
  held_.live += std::min(wanted, taken);
  held_.rounding += taken - std::min(wanted, taken);
  held_.pinned += free;
  with_blocks_ += os_pages::page_bytes();
}

void census_taker::rank_sites() {
  std::iota(order_.begin(), order_.end(), 0U);
  std::sort(order_.begin(), order_.end(), [this](std::uint32_t first, std::uint32_t second) {
    const site_holding& left = sites_[first];
    const site_holding& right = sites_[second];
    return left.pinned != right.pinned ? left.pinned > right.pinned : first < second;
  });
  for (std::uint32_t place = 0; place < order_.size(); ++place) rank_[order_[place]] = place;
}

// Draws all resident pages that ever held a block, in the order of their addresses. All cells stand for the
// same number of pages.
void census_taker::draw_map(std::size_t resident_pages) {
  const std::size_t page_bytes = os_pages::page_bytes();
  const std::size_t of_cell = std::max<std::size_t>(1, (resident_pages + most_cells - 1) / most_cells);
  const std::span<part> parts = parts_.first(part_count_);  // by page, as share_pages() has left them
  const std::span<filled_pages> filled = filled_.first(filled_count_);
  std::sort(filled.begin(), filled.end(),
            [](const filled_pages& left, const filled_pages& right) { return left.begin < right.begin; });
  std::fill(map_.begin(), map_.end(), map_cell{});
  std::size_t place = 0, next_part = 0, next_filled = 0;
  marks_.each([&](std::uintptr_t page) {
    if (!pages_.is_resident(page)) return;
    while (next_part < parts.size() && parts[next_part].page < page) ++next_part;
    while (next_filled < filled.size() && filled[next_filled].end <= page) ++next_filled;
    std::size_t end = next_part;
    while (end < parts.size() && parts[end].page == page) ++end;
    map_cell& cell = map_[place++ / of_cell];
    if (next_filled < filled.size() && filled[next_filled].begin <= page) {
      cell.used += page_bytes;
    } else if (end != next_part) {
      const std::uint64_t free = free_bytes(parts.subspan(next_part, end - next_part));
      cell.used += page_bytes - free;
      cell.pinned += free;
    } else {
      cell.retained += page_bytes;
    }
  });
  cell_count_ = (place + of_cell - 1) / of_cell;
}

void census_taker::tell(const recorded::census& taken, std::uint64_t memory) {
  const recorded::epoch& at = work_.epochs()[taken.epoch];
  text_.begin_object().key("why").value(names[static_cast<std::size_t>(taken.why)]);
  text_.key("time_us").value(at.time_us).key("live_bytes").value(at.live_bytes);
  text_.key("live_blocks").value(at.live_blocks).key("memory").value(memory);
  text_.key("live").value(held_.live).key("rounding").value(held_.rounding);
  text_.key("pinned").value(held_.pinned).key("retained").value(held_.retained);
  text_.key("own").value(held_.own).key("sites").begin_array();
  for (std::size_t place = 0; place < std::min(most_sites, order_.size()); ++place) {
    const site_holding& of = sites_[order_[place]];
    if (of.blocks == 0) continue;
    text_.begin_array();
    for (const std::uint64_t number : {std::uint64_t{order_[place]}, of.blocks, of.bytes, of.pages, of.pinned,
                                       of.together, of.ages_us, of.oldest_us})
      text_.value(number);
    text_.end_array();
  }
  text_.end_array().key("map").begin_array();
  for (const map_cell& cell : map_.first(cell_count_)) {
    text_.begin_array();
    for (const std::uint64_t bytes : {cell.used, cell.pinned, cell.retained}) text_.value(bytes);
    text_.end_array();
  }
  text_.end_array().end_object().end_line();
}

}  // namespace heaplab::replay
