#include "coherence/workloads.h"

#include <deque>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heaplab::coherence {
namespace {

using random = std::minstd_rand;

std::size_t between(random& source, std::size_t least, std::size_t most) {
  return least + source() % (most - least + 1);
}

// Each thread allocates `count` blocks of a size, frees them in the order of their birth, and so on.
class fill_and_empty : public session {
public:
  fill_and_empty(program& of, unsigned threads, std::size_t bytes, std::size_t count)
      : program_(of), bytes_(bytes), count_(count), threads_(threads) {}

  void turn(unsigned thread) override {
    state& own = threads_[thread];
    if (own.blocks.size() == count_) own.empties = true;
    if (own.blocks.empty()) own.empties = false;
    if (!own.empties) return own.blocks.push_back(program_.allocate(thread, bytes_));
    program_.deallocate(thread, own.blocks.front());
    own.blocks.pop_front();
  }

private:
  struct state {
    std::deque<void*> blocks;
    bool empties = false;
  };
  program& program_;
  const std::size_t bytes_, count_;
  std::vector<state> threads_;
};

// Each thread frees the block in a random place of its array, or allocates one where none is.
class random_replacement : public session {
public:
  random_replacement(program& of, unsigned threads, std::size_t most_bytes)
      : program_(of), most_bytes_(most_bytes) {
    for (unsigned thread = 0; thread < threads; ++thread)
      threads_.push_back({std::vector<void*>(places), random(thread + 1)});
  }

  void turn(unsigned thread) override {
    auto& [blocks, draw] = threads_[thread];
    void*& place = blocks[draw() % places];
    if (void* const block = std::exchange(place, nullptr)) return program_.deallocate(thread, block);
    place = program_.allocate(thread, between(draw, 1, most_bytes_));
  }

private:
  static constexpr std::size_t places = 200;
  struct state {
    std::vector<void*> blocks;
    random draw;
  };
  program& program_;
  const std::size_t most_bytes_;
  std::vector<state> threads_;
};

// Each thread replaces random blocks of a slice; then the thread ends, and a new one takes over the slice
// that was its neighbour's.
class larson : public session {
public:
  larson(program& of, unsigned threads) : program_(of) {
    for (unsigned thread = 0; thread < threads; ++thread) {
      slices_.emplace_back(places);
      threads_.push_back({random(thread + 1)});
    }
  }

  void turn(unsigned thread) override {
    state& own = threads_[thread];
    if (own.turns++ == turns_of_a_life) begin_life(thread, own);
    if (own.empty != nullptr) {
      *std::exchange(own.empty, nullptr) = program_.allocate(thread, bytes);
      return;
    }
    void*& place = slices_[(thread + own.life) % slices_.size()][own.draw() % places];
    own.empty = &place;
    if (place != nullptr) program_.deallocate(thread, std::exchange(place, nullptr));
  }

private:
  static constexpr std::size_t bytes = 7, places = 50;
  static constexpr unsigned turns_of_a_life = 500;
  struct state {
    random draw;
    unsigned turns = 0, life = 0;
    void** empty = nullptr;  // where the next block goes
  };

  void begin_life(unsigned thread, state& own) {
    program_.end_thread(thread);
    program_.begin_thread(thread);
    own = {own.draw, 1, own.life + 1};
  }

  program& program_;
  std::vector<std::vector<void*>> slices_;
  std::vector<state> threads_;
};

// Threads 0, 2, 4 and so on allocate, their successors free, a batch behind.
class producer_consumer : public session {
public:
  producer_consumer(program& of, unsigned threads)
      : program_(of), threads_(threads), queues_((threads + 1) / 2) {}

  void turn(unsigned thread) override {
    queue& own = queues_[thread / 2];
    const bool alone = thread + 1 == threads_ && thread % 2 == 0;
    const bool is_full = own.blocks.size() >= most;
    if (thread % 2 == 0 && !(alone && own.drains)) {
      if (!is_full) own.blocks.push_back(program_.allocate(thread, between(own.draw, 16, 512)));
      own.drains = own.blocks.size() >= most;
    } else if (own.blocks.size() > batch || alone) {
      program_.deallocate(thread, own.blocks.front());
      own.blocks.pop_front();
      if (own.blocks.size() <= batch) own.drains = false;
    }
  }

private:
  static constexpr std::size_t batch = 100, most = 2 * batch;
  struct queue {
    std::deque<void*> blocks;
    random draw{1};
    bool drains = false;  // of a thread that is both
  };
  program& program_;
  const unsigned threads_;
  std::vector<queue> queues_;
};

// Each thread lives for some blocks, of which it leaves a tenth to the next thread on its neighbour's core.
class thread_churn : public session {
public:
  thread_churn(program& of, unsigned threads) : program_(of), left_(threads) {
    for (unsigned thread = 0; thread < threads; ++thread) threads_.push_back({random(thread + 1)});
  }

  void turn(unsigned thread) override {
    state& own = threads_[thread];
    auto& inherited = left_[thread];
    if (own.allocated == blocks_of_a_life && inherited.empty() && own.blocks.size() == survivors)
      begin_life(thread, own);
    if (own.allocated < blocks_of_a_life) {
      ++own.allocated;
      own.blocks.push_back(program_.allocate(thread, between(own.draw, 16, 4096)));
    } else {
      auto& from = inherited.empty() ? own.blocks : inherited;
      program_.deallocate(thread, from.back());
      from.pop_back();
    }
  }

private:
  static constexpr std::size_t blocks_of_a_life = 100, survivors = 10;
  struct state {
    random draw;
    std::size_t allocated = 0;
    std::vector<void*> blocks = {};
  };

  void begin_life(unsigned thread, state& own) {
    program_.end_thread(thread);
    program_.begin_thread(thread);
    auto& heir = left_[(thread + 1) % left_.size()];
    heir.insert(heir.end(), own.blocks.begin(), own.blocks.end());
    own = {own.draw};
  }

  program& program_;
  std::vector<std::vector<void*>> left_;
  std::vector<state> threads_;
};

// Every second thread allocates and never frees; the others allocate and free one block.
class growth : public session {
public:
  growth(program& of, unsigned threads) : program_(of), blocks_(threads) {}

  void turn(unsigned thread) override {
    void*& own = blocks_[thread];
    if (thread % 2 == 0 || own == nullptr) {
      own = program_.allocate(thread, 64);
    } else {
      program_.deallocate(thread, std::exchange(own, nullptr));
    }
  }

private:
  program& program_;
  std::vector<void*> blocks_;
};

template <class Session, std::size_t... Arguments>
std::unique_ptr<session> start(program& of, unsigned threads) {
  return std::make_unique<Session>(of, threads, Arguments...);
}

std::unique_ptr<session> start_span_pool(program& of, unsigned threads) {
  constexpr std::size_t bytes = 8 << 10;
  return std::make_unique<fill_and_empty>(of, threads, bytes, 8 * of.blocks_in_span(bytes));
}

constexpr workload all_workloads[] = {
    {"threadtest", "600 blocks of 64 B, allocated and then freed", true, 1200, 1200,
     start<fill_and_empty, 64, 600>},
    {"shbench", "random replacement of 200 blocks of 1 to 8 B", true, 800, 800, start<random_replacement, 8>},
    {"random-sizes", "random replacement of 200 blocks of 1 to 1000 B", true, 800, 800,
     start<random_replacement, 1000>},
    {"span-pool", "blocks of 8 KiB for eight spans, allocated and then freed", true, 512, 512,
     start_span_pool},
    {"growth", "every second thread never frees its blocks of 64 B", true, 600, 600, start<growth>},
    {"larson", "random replacement of 50 blocks of 7 B, which pass to a new thread after 250", false, 1000,
     1000, start<larson>},
    {"producer-consumer", "every second thread frees what the one before it allocates, 16 to 512 B", false,
     600, 600, start<producer_consumer>},
    {"thread-churn", "threads that live for 100 blocks of 16 to 4096 B and leave ten", false, 600, 600,
     start<thread_churn>},
};

template <class Named>
const Named& named(std::span<const Named> all, std::string_view name) {
  for (const Named& candidate : all)
    if (candidate.name == name) return candidate;
  throw std::invalid_argument("nothing is called " + std::string(name));
}

}  // namespace

std::span<const workload> workloads() {
  return all_workloads;
}

const workload& workload_named(std::string_view name) {
  return named(workloads(), name);
}
const variant& variant_named(std::string_view name) {
  return named(variants(), name);
}

result simulate(const workload& work, const variant& heap, unsigned threads, nodes among) {
  const std::unique_ptr<program> of = heap.start(threads);
  of->place([&](unsigned core) { return among.in_turn ? core % among.count : core * among.count / threads; });
  const std::unique_ptr<session> under_way = work.start(*of, threads);
  std::vector<unsigned> order(threads);
  std::iota(order.begin(), order.end(), 0U);
  random draw(1);
  const auto run = [&](unsigned turns) {
    for (unsigned round = 0; round < turns; ++round) {
      for (unsigned left = threads; left > 1; --left) std::swap(order[left - 1], order[draw() % left]);
      for (const unsigned thread : order) under_way->turn(thread);
    }
  };
  run(work.warm_up_turns);
  of->forget_counts();
  run(work.turns);
  return {of->all(), of->fast()};
}

}  // namespace heaplab::coherence
