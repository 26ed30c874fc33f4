// The workloads of the paper in small forms, for simulated programs.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "coherence/program.h"

namespace heaplab::coherence {

// A workload under way. The threads take turns; a turn is one malloc or free.
class session {
public:
  virtual ~session() = default;
  virtual void turn(unsigned thread) = 0;
};

struct workload {
  std::string_view name;
  const char* what;
  bool is_thread_local;  // no thread frees a block of another
  // Turns of each thread before and while operations are counted.
  unsigned warm_up_turns, turns;
  std::unique_ptr<session> (*start)(program& of, unsigned threads);
};

std::span<const workload> workloads();
// Both throw std::invalid_argument for a name that there is not.
const workload& workload_named(std::string_view name);
const variant& variant_named(std::string_view name);

struct result {
  counts all;   // every malloc and free, and the beginnings and ends of threads among them
  counts fast;  // the operations for which the fast path was enough
};

// Nodes among which the cores are divided: with threads 0, 1, 2 and so on on one, or on the next in turn.
struct nodes {
  unsigned count = 1;
  bool in_turn = false;
};

// The threads take their turns in rounds, in an order that is drawn anew for each round, from a fixed seed.
result simulate(const workload& work, const variant& heap, unsigned threads, nodes among = {});

}  // namespace heaplab::coherence
