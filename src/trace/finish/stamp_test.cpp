#include "trace/finish/stamp_test.h"

#include <sched.h>

#include <thread>
#include <vector>

#include "base/atomic.h"
#include "base/cpu.h"
#include "probes/tick_clock.h"

namespace heaplab::trace {

namespace {

constexpr std::uint64_t hand_overs = 2000;  // for each pair of processors
constexpr std::size_t most_processors = 8;

struct alignas(64) ball {
  atomic<std::uint64_t> round = 0;
  std::uint64_t stamp = 0;  // stamp of the last hand-over
};

void stay_on(int processor) {
  cpu_set_t this_cpu;
  CPU_ZERO(&this_cpu);
  CPU_SET(processor, &this_cpu);
  sched_setaffinity(0, sizeof this_cpu, &this_cpu);
}

// Takes the ball in the rounds of its parity. False if a stamp is earlier than the stamp of the hand-over.
bool play(ball& shared, std::uint64_t parity, int processor) {
  stay_on(processor);
  bool ordered = true;
  for (std::uint64_t round = parity; round < hand_overs; round += 2) {
    // acquire pairs with the release below: the stamp seen here was taken before.
    for (unsigned spins = 0; shared.round.load(std::memory_order_acquire) != round; ++spins) {
      spin_pause();
      if (spins % 1024 == 1023) sched_yield();
    }
    const std::uint64_t now = probes::time_stamp_counter();
    ordered = ordered && now >= shared.stamp;
    shared.stamp = now;
    shared.round.store(round + 1, std::memory_order_release);
  }
  return ordered;
}

bool ordered_between(int first, int second) {
  ball shared;
  bool here = false, there = false;
  std::thread racing([&] { here = play(shared, 0, first); });
  std::thread two([&] { there = play(shared, 1, second); });
  racing.join();
  two.join();
  return here && there;
}

std::vector<int> processors() {
  std::vector<int> found;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return found;
  for (int cpu = 0; cpu < CPU_SETSIZE && found.size() < most_processors; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) found.push_back(cpu);
  return found;
}

}  // namespace

bool counter_orders_threads() {
  if (probes::tick_clock::calibrate().source() != probes::clock_source::time_stamp_counter) return false;
  const std::vector<int> looked_at = processors();
  for (const int first : looked_at)
    for (const int second : looked_at)
      if (first < second && !ordered_between(first, second)) return false;
  return true;
}

}  // namespace heaplab::trace
