// Which cores have a copy of which cache line, and which accesses move a line between cores.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace heaplab::coherence {

inline constexpr unsigned core_limit = 256;

// Whence a core got a line, or the right to write to it: nobody else had it, cores of its node alone, or
// cores of other nodes too.
enum class move { none, within_node, between_nodes };

// The directory of a machine whose caches have room for everything and follow the MESI protocol. A core that
// has the only copy writes to the line without a message (exclusive or modified), so that the set of cores
// with a copy is all there is to know. A first access, which goes to memory, is no move. All cores are of one
// node at first.
class directory {
public:
  using cores = std::bitset<core_limit>;

  directory() {
    place([](unsigned) { return 0U; });
  }

  // The core belongs to the node with the number that `node_of` gives.
  template <class NodeOf>
  void place(NodeOf node_of) {
    for (unsigned core = 0; core < core_limit; ++core)
      for (unsigned other = 0; other < core_limit; ++other)
        neighbours_[core][other] = node_of(core) == node_of(other);
  }

  // A core of the same node with a copy provides it.
  move read(unsigned core, std::uintptr_t line) {
    cores& copies = copies_of(line);
    const bool moves = !copies[core] && copies.any();
    const bool is_near = moves && (copies & neighbours_[core]).any();
    copies.set(core);
    return !moves ? move::none : is_near ? move::within_node : move::between_nodes;
  }
  // All other copies go.
  move write(unsigned core, std::uintptr_t line) {
    cores& copies = copies_of(line);
    const bool moves = copies.count() > (copies[core] ? 1U : 0U);
    const bool is_near = !moves || (copies & ~neighbours_[core]).none();
    if (moves) copies.reset();
    copies.set(core);
    return !moves ? move::none : is_near ? move::within_node : move::between_nodes;
  }

private:
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

  std::array<cores, core_limit> neighbours_;  // by core: the cores of its node
  std::unordered_map<std::uintptr_t, group> groups_;
  group* last_ = nullptr;
  std::uintptr_t last_number_ = 0;
};

}  // namespace heaplab::coherence
