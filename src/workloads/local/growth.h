// Benchmark I: one structure is created, filled and destroyed, again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>

#include "workloads/local/strategy_table.h"
#include "workloads/local/structures.h"

namespace heaplab::strategies {

struct growth_job {
  const chosen_strategy& chosen;
  source_options sources;
  std::uint64_t elements;
  const texts& leaves;
};

// The operations of a structure under the chosen strategy.
class grower {
public:
  virtual ~grower() = default;

  // Steps 1 to 5 of the benchmark, with a fresh allocator each time.
  virtual void repeat(std::uint64_t times) = 0;
  // One repetition; ends the program if the structure does not hold what was put into it.
  virtual void check() = 0;
  // One repetition with memory from `memory`.
  virtual void make_from(std::pmr::memory_resource& memory) = 0;
};

// Creates and fills one structure with memory from `memory`, independently of any strategy.
template <class Structure>
void make_once(const growth_job& job, std::pmr::memory_resource& memory) {
  Structure made(&memory);
  fill(made, job.elements, job.leaves);
}

// One container type under one strategy.
template <class Strategy, template <class> class Structure>
class grower_of final : public grower {
  using handle = typename Strategy::handle_type;
  using container = Structure<handle>;

public:
  explicit grower_of(const growth_job& job) : job_(job) {}

  void repeat(std::uint64_t times) override {
    for (std::uint64_t i = 0; i < times; ++i) once([](const container&) {});
  }

  void check() override {
    once([this](const container& made) {
      contents found;
      read(made, Strategy::is_global ? __STDCPP_DEFAULT_NEW_ALIGNMENT__ : 1, found);
      if (found != expected_contents<container>(job_.elements, job_.leaves))
        harness::broken_contents("a structure holds what was put into it");
    });
  }

  void make_from(std::pmr::memory_resource& memory) override {
    make_once<Structure<std::pmr::memory_resource>>(job_, memory);
  }

private:
  template <class Look>
  void once(Look look) {
    auto source = Strategy::make(job_.sources);
    if constexpr (Strategy::is_winked_out) {
      auto& made = local::make_winked<container>(source);
      fill(escape(made), job_.elements, job_.leaves);
      look(made);
    } else {
      container made(allocators<handle>::of(Strategy::reach(source)));
      fill(escape(made), job_.elements, job_.leaves);
      look(made);
    }
  }

  const growth_job job_;
};

template <template <class> class Structure>
std::unique_ptr<grower> make_grower(const growth_job& job) {
  std::unique_ptr<grower> made;
  job.chosen.with([&]<class Strategy>() { made = std::make_unique<grower_of<Strategy, Structure>>(job); });
  return made;
}

// Each function has a file of its own, which shortens compile times. `number` counts from 1: DS1 to DS4, DS5
// to DS8, DS9 to DS12. Throws run_error if the strategy is not available.
std::unique_ptr<grower> make_flat(std::uint64_t number, const growth_job& job);
std::unique_ptr<grower> make_vector_of(std::uint64_t number, const growth_job& job);
std::unique_ptr<grower> make_set_of(std::uint64_t number, const growth_job& job);

}  // namespace heaplab::strategies
