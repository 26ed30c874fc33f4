// The first instructions of a function, as they run at another place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heaplab::moving {

// Code that does what the first instructions of a function did and goes on behind them. It is written as if
// it stood where they stand: whoever puts it elsewhere adds the distance, old place less new, to each
// displacement.
struct moved_entry {
  std::size_t replaced = 0;  // bytes of the function that the code stands for, jump_bytes or more
  std::vector<std::uint8_t> code;
  std::vector<std::size_t> displacements;  // where in the code displacements of four bytes stand
  std::string fault;                       // why the instructions cannot be moved, in words; "" if they can
};

// `function`: all bytes of the function, or as many as are known, and `padding` bytes behind its end.
moved_entry move_entry(std::uint64_t address, std::span<const std::uint8_t> function, std::size_t padding);

}  // namespace heaplab::moving
