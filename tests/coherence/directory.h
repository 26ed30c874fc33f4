// Which cores have a copy of which cache line, and which accesses move a line between cores.
#pragma once

#include <array>
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
    cores& copies = copies_of(line);
    const bool moves = !copies[core] && copies.any();
    copies.set(core);
    return moves;
  }
  bool write(unsigned core, std::uintptr_t line) {
    cores& copies = copies_of(line);
    const bool moves = copies.count() > (copies[core] ? 1U : 0U);
    if (moves) copies.reset();
    copies.set(core);
    return moves;
  }

private:
  using cores = std::bitset<core_limit>;
  // Lines that lie together are looked up together, and mostly one after the other.
  static constexpr std::size_t lines_together = 64;
  using group = std::array<cores, lines_together>;

  cores& copies_of(std::uintptr_t line) {
    const std::uintptr_t number = line / lines_together;
    if (last_ == nullptr || number != last_number_) {
      last_ = &groups_[number];
      last_number_ = number;
    }
    return (*last_)[line % lines_together];
  }

  std::unordered_map<std::uintptr_t, group> groups_;
  group* last_ = nullptr;
  std::uintptr_t last_number_ = 0;
};

}  // namespace heaplab::coherence
