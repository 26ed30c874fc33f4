// A fixed amount of work that shows how much of a core a process gets at present.
//
// Independent multiplications, updates of a table and branches that depend on data keep many parts of the
// core busy at once, so that a neighbour on the same core slows them down. A chain of dependent instructions
// would notice nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heaplab::probes {

inline constexpr std::size_t mode_table_entries = std::size_t{1}
                                                  << 15;  // 256 KiB: more than a first-level cache
inline constexpr std::size_t mode_lanes = 8;
using mode_table = std::array<std::uint64_t, mode_table_entries>;

// Does the work of `rounds` and returns a number that depends on all of it. The same table and number of
// rounds give the same number.
inline std::uint64_t mode_work(mode_table& table, std::size_t rounds) {
  std::array<std::uint64_t, mode_lanes> lanes;
  for (std::size_t lane = 0; lane < mode_lanes; ++lane) lanes[lane] = 2 * lane + 1;
  std::uint64_t taken = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::uint64_t& lane : lanes) {
      lane = lane * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
      std::uint64_t& entry = table[(lane >> 40) % mode_table_entries];
      entry += lane;
      if ((entry & 64) != 0) taken += entry >> 7;
    }
  }
  return taken;
}

}  // namespace heaplab::probes
