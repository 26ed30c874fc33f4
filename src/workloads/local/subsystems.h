// The subsystems of Benchmark II: linked lists, each with an allocator of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <new>
#include <span>

#include "probes/off_heap_pages.h"
#include "workloads/harness/harness.h"
#include "workloads/local/buffer.h"
#include "workloads/local/strategy_table.h"

namespace heaplab::strategies {

// Bytes of a list node as requested from an allocator: two links and an int.
inline constexpr std::uint64_t node_bytes = 24;

struct locality_job {
  const chosen_strategy& chosen;
  std::uint64_t elements;    // of each list
  std::uint64_t subsystems;  // number of lists
};

// The operations of the benchmark on its lists.
class subsystems {
public:
  virtual ~subsystems() = default;

  // For every list in turn: moves the front element to the back of a random list; repeats this `rounds`
  // times. Empty lists are skipped. Returns the number of elements moved.
  virtual std::uint64_t shuffle(std::uint64_t rounds, harness::random_stream& random) = 0;
  // Walks through all lists `repeats` times, each time `passes` times through each list, and increments every
  // element.
  virtual void access(std::uint64_t passes, std::uint64_t repeats) = 0;
  // Ends the program unless the lists together hold their original elements, each incremented `increments`
  // times.
  virtual void check(std::uint64_t increments) const = 0;
};

// Lists of one type: the same for all strategies that reach their source in the same way.
template <class List>
class lists {
public:
  explicit lists(std::uint64_t count)
      : pages_(harness::take_pages(probes::off_heap_pages::needed<List*>(count))),
        all_(pages_.array<List*>(count)) {}

  List*& operator[](std::size_t place) { return all_[place]; }

  [[gnu::noinline]] std::uint64_t shuffle(std::uint64_t rounds, harness::random_stream& random) {
    std::uint64_t moved = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      for (List* each : all_) {
        if (each->empty()) continue;
        const int value = each->front();
        each->pop_front();
        all_[random.below(all_.size())]->push_back(value);
        ++moved;
      }
    }
    return moved;
  }

  // Stops after the expected number of elements, so that the walk through a broken list ends too.
  [[gnu::noinline]] void access(std::uint64_t passes, std::uint64_t repeats) {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat)
      for (List* each : all_)
        for (std::uint64_t pass = 0; pass < passes; ++pass) {
          auto at = each->begin();
          for (std::size_t left = each->size(); left > 0; --left, ++at) ++*at;
          clobber();
        }
  }

  // Nodes must be aligned to `alignment`.
  void check(std::uint64_t elements, std::uint64_t increments, std::size_t alignment) const {
    std::uint64_t sum = 0;
    std::uint64_t count = 0;
    for (List* each : all_) {
      auto at = each->cbegin();
      for (std::size_t left = each->size(); left > 0; --left, ++at, ++count) {
        if (!is_aligned(&*at, alignment)) harness::broken_contents("nodes are aligned");
        sum += static_cast<std::uint64_t>(*at);
      }
      if (at != each->cend()) harness::broken_contents("a list ends after its last element");
    }
    const std::uint64_t each_began_with = elements * (elements - 1) / 2;
    if (count != elements * all_.size() || sum != each_began_with * all_.size() + increments * count)
      harness::broken_contents("the lists hold their elements, each incremented as often as the others");
  }

private:
  probes::off_heap_pages pages_;
  std::span<List*> all_;
};

template <class Strategy>
class subsystems_of final : public subsystems {
  using handle = typename Strategy::handle_type;
  using list = std::list<int, typename allocators<handle>::template flat<int>>;

  struct subsystem {
    explicit subsystem(const source_options& with)
        : source(Strategy::make(with)), elements(allocators<handle>::of(Strategy::reach(source))) {}

    typename Strategy::source_type source;
    list elements;
  };

public:
  explicit subsystems_of(const locality_job& job)
      : job_(job), room_(job.subsystems * sizeof(subsystem)), lists_(job.subsystems) {
    const source_options with{.first_chunk = std::max<std::size_t>(job.elements * node_bytes, 64)};
    for (; made_ < job.subsystems; ++made_) {
      auto* const fresh = ::new (place(made_)) subsystem(with);
      lists_[made_] = &fresh->elements;
      for (std::uint64_t i = 0; i < job.elements; ++i) fresh->elements.push_back(static_cast<int>(i));
    }
  }

  ~subsystems_of() override {
    for (std::uint64_t i = 0; i < made_; ++i)
      std::destroy_at(std::launder(static_cast<subsystem*>(place(i))));
  }

  std::uint64_t shuffle(std::uint64_t rounds, harness::random_stream& random) override {
    return lists_.shuffle(rounds, random);
  }
  void access(std::uint64_t passes, std::uint64_t repeats) override { lists_.access(passes, repeats); }
  void check(std::uint64_t increments) const override {
    lists_.check(job_.elements, increments, Strategy::is_global ? 2 * sizeof(void*) : alignof(int));
  }

private:
  void* place(std::uint64_t number) const { return room_.bytes().data() + number * sizeof(subsystem); }

  const locality_job job_;
  const buffer room_;  // for all lists; part of the cost of a strategy
  lists<list> lists_;
  std::uint64_t made_ = 0;
};

}  // namespace heaplab::strategies
