// Which cores have a copy of which cache line, and which accesses move a line between cores.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace heaplab::coherence {

inline constexpr unsigned core_limit = 256;

// The directory of a machine whose caches have room for everything and follow the MESI protocol. A core that
// has the only copy writes to the line without a message (exclusive or modified), so that the set of cores
// with a copy is all there is to know. A first access, which goes to memory, is no transfer.
class directory {
public:
  // Each returns whether the line or the right to write to it came from another core: one transfer.
  bool read(unsigned core, std::uintptr_t line) {
    cores& copies = lines_[line];
    const bool moves = !copies[core] && copies.any();
    copies.set(core);
    return moves;
  }
  bool write(unsigned core, std::uintptr_t line) {
    cores& copies = lines_[line];
    const bool moves = copies.count() > (copies[core] ? 1U : 0U);
    if (moves) copies.reset();
    copies.set(core);
    return moves;
  }

private:
  using cores = std::bitset<core_limit>;
  std::unordered_map<std::uintptr_t, cores> lines_;
};

}  // namespace heaplab::coherence
