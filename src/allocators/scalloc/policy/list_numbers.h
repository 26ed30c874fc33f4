// The numbers of lists of free blocks: what the page map says of a span (page_map.h), and where a thread
// keeps the blocks it freed (free_lists.h).
//
// Blocks smaller than a cache line share lines. A thread that handed out again what it freed of another
// thread's would share those lines with the other from then on (passive false sharing; paper, section 7.4).
// So each of these classes has a list for each of line_owners owners, and a thread allocates from its own
// list alone. Threads have the numbers of owners in turns, or CPUs where these have the blocks
// (calling_core.h): two with the same number share lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/policy/config.h"
#include "allocators/scalloc/policy/size_classes.h"
#include "base/cache_line.h"
#include "base/narrow.h"

namespace heaplab::scalloc {

template <const config& Config>
class list_numbers {
  using classes = size_classes<Config>;

  static constexpr bool share_lines(unsigned class_index) {
    return Config.line_owners > 1 && classes::table[class_index].block_bytes < cache_line_bytes;
  }
  // How many classes below this one share lines.
  static constexpr unsigned rank_of(unsigned class_index) {
    unsigned rank = 0;
    for (unsigned below = 0; below < class_index; ++below) rank += share_lines(below) ? 1 : 0;
    return rank;
  }

  static constexpr std::uint8_t compute(unsigned class_index, unsigned owner) {
    if (owner == 0 || !share_lines(class_index)) return narrow<std::uint8_t>(1 + class_index);
    return narrow<std::uint8_t>(1 + classes::count + (owner - 1) * rank_of(classes::count) +
                                rank_of(class_index));
  }

public:
  static constexpr unsigned owners = Config.line_owners;
  // 0 is no list.
  static constexpr unsigned count = 1 + classes::count + (owners - 1) * rank_of(classes::count);
  static_assert(owners > 0 && count <= UINT8_MAX + 1);

  static constexpr std::uint8_t of(unsigned class_index, unsigned owner) { return lists[owner][class_index]; }

  template <class Visit>
  static void for_each_of(unsigned class_index, Visit&& visit) {
    const unsigned those_with_lists = share_lines(class_index) ? owners : 1;
    for (unsigned owner = 0; owner < those_with_lists; ++owner) visit(of(class_index, owner));
  }

private:
  struct all_numbers {
    std::array<std::array<std::uint8_t, classes::count>, owners> lists{};
    std::array<std::uint8_t, count> class_of{};
    std::array<std::array<std::uint8_t, classes::lookup.size()>, owners> lookups{};
  };
  static constexpr all_numbers make() {
    all_numbers result{};
    for (unsigned owner = 0; owner < owners; ++owner) {
      for (unsigned index = 0; index < classes::count; ++index) {
        result.lists[owner][index] = compute(index, owner);
        result.class_of[compute(index, owner)] = narrow<std::uint8_t>(index);
      }
      result.lookups[owner] = classes::lookup;
      for (std::size_t step = 0; step * class_step < cache_line_bytes; ++step)
        result.lookups[owner][step] = compute(classes::lookup[step] - 1U, owner);
    }
    return result;
  }
  static constexpr all_numbers all = make();

public:
  static constexpr const auto& lists = all.lists;
  // Of each list but 0.
  static constexpr const auto& class_of = all.class_of;
  // For each owner the list for a size of so many steps (size_classes::step_of).
  static constexpr const auto& lookups = all.lookups;
};

}  // namespace heaplab::scalloc
