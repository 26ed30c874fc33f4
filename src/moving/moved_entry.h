// The first instructions of a function, as they run at another place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heaplab::moving {

// Code that does what the first instructions of a function did and goes on behind them. It is written as if
// it stood where they stand: whoever puts it elsewhere adapts its displacements. One of x86-64 is four bytes,
// to which the distance is added, old place less new; one of AArch64 is an instruction with a distance
// (jump_aarch64.h).
struct moved_entry {
  std::size_t kept = 0;  // bytes of the function that stay before the jump, though the code does them, too
  std::size_t replaced = 0;  // bytes behind them that the code stands for, jump_bytes or more
  std::vector<std::uint8_t> code;
  std::vector<std::size_t> displacements;  // where in the code displacements stand
  std::string fault;                       // why the instructions cannot be moved, in words; "" if they can
};

// `function`: all bytes of the function, or as many as are known, and `padding` bytes behind its end.
moved_entry move_entry(std::uint64_t address, std::span<const std::uint8_t> function, std::size_t padding);

}  // namespace heaplab::moving
