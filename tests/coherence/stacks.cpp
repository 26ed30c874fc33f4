// Compiled with -fsanitize=thread, as variants.cpp.
#include "coherence/stacks.h"

#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "base/cache_line.h"
#include "coherence/simulated_sync.h"
#include "concurrent/hazard_stack.h"
#include "concurrent/index_stack.h"

namespace heaplab::coherence {
namespace {

constexpr unsigned warm_up_rounds = 600, rounds = 600;

struct alignas(cache_line_bytes) element {
  simulated_sync::atomic<std::uint32_t> link;
};

// In each round every thread pops; then every thread pushes; both in an order that is drawn anew.
template <class Pop, class Push>
counts run_pairs(unsigned threads, Pop pop, Push push) {
  machine simulated;
  counts all;
  std::vector<unsigned> order(threads);
  std::vector<std::uint32_t> held(threads);
  std::iota(order.begin(), order.end(), 0U);
  std::minstd_rand draw(1);
  const auto turn = [&](auto work) {
    for (unsigned left = threads; left > 1; --left) std::swap(order[left - 1], order[draw() % left]);
    for (const unsigned thread : order) all += simulated.run(thread, [&] { work(thread); });
  };
  for (unsigned round = 0; round < warm_up_rounds + rounds; ++round) {
    if (round == warm_up_rounds) all = {};
    turn([&](unsigned thread) { held[thread] = pop(thread); });
    turn([&](unsigned thread) { push(thread, held[thread]); });
  }
  all.operations = std::uint64_t{threads} * rounds;
  return all;
}

}  // namespace

counts simulate_tagged_stack(unsigned threads) {
  std::vector<element> elements(2 * threads);
  const auto next = [&](std::uint32_t index) -> auto& { return elements[index].link; };
  concurrent::index_stack<simulated_sync> stack;
  for (std::uint32_t index = 0; index < elements.size(); ++index) stack.push(index, next);
  return run_pairs(
      threads, [&](unsigned) { return stack.try_pop(next).value(); },
      [&](unsigned, std::uint32_t index) { stack.push(index, next); });
}

counts simulate_hazard_stack(unsigned threads, std::size_t batch) {
  std::vector<element> elements(threads * (batch + 2));
  const auto next = [&](std::uint32_t index) -> auto& { return elements[index].link; };
  concurrent::hazard_stack<simulated_sync> stack(threads, batch);
  for (std::uint32_t index = 0; index < elements.size(); ++index) stack.push(index % threads, index, next);
  for (unsigned thread = 0; thread < threads; ++thread) stack.push_waiting(thread, next);
  return run_pairs(
      threads, [&](unsigned thread) { return stack.try_pop(thread, next).value(); },
      [&](unsigned thread, std::uint32_t index) { stack.push(thread, index, next); });
}

}  // namespace heaplab::coherence
