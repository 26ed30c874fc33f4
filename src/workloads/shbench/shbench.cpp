// Bursts of equal small objects, in a few falling sizes. Most objects live for most of a round; a moving
// window of a fifth of them lives longer. After the description of MicroQuill's SmartHeap benchmark
// (sh6bench).
#include <vector>

#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

// A number of objects of one size, allocated in a row. Smaller objects come in larger numbers.
struct burst {
  std::uint64_t bytes;
  unsigned objects;
};

unsigned objects_in_burst(std::uint64_t bytes) {
  unsigned objects = 1;
  if (bytes < 10'000) objects *= 10;
  if (bytes < 1'000) objects *= 5;
  if (bytes < 100) objects *= 5;
  return objects;
}

// Base sizes start at `least`, and each further one is half as large again, plus one. For each base size,
// bursts halve the size down to one byte.
std::vector<burst> list_bursts(std::uint64_t least, std::uint64_t beyond) {
  std::vector<burst> bursts;
  for (std::uint64_t base = least; base < beyond; base = base * 3 / 2 + 1)
    for (std::uint64_t bytes = base; bytes > 0; bytes /= 2)
      bursts.push_back({bytes, objects_in_burst(bytes)});
  return bursts;
}

// The objects of one thread. When all places are taken, the objects outside a window of one fifth of the
// places are freed, in order below the window and in reverse order above it. Then the window advances by its
// own length.
template <class Heap>
class object_ring {
public:
  object_ring(Heap& heap, std::span<harness::block> places)
      : heap_(heap), places_(places), window_(std::max<std::size_t>(places.size() / 5, 1)) {}

  void add(std::uint64_t bytes) {
    if (next_ == places_.size()) make_room();
    places_[next_] = harness::allocate_stamped(heap_, bytes, harness::stamp_of(next_));
    ++next_;
    skip_window();
  }

  void release_all() {
    for (std::size_t at = 0; at < places_.size(); ++at) release(at);
  }

private:
  void make_room() {
    kept_from_ = kept_to_ == places_.size() ? 0 : kept_to_;
    kept_to_ = std::min(kept_from_ + window_, places_.size());
    for (std::size_t at = 0; at < kept_from_; ++at) release(at);
    for (std::size_t at = places_.size(); at-- > kept_to_;) release(at);
    next_ = 0;
    skip_window();
  }

  void skip_window() {
    if (next_ == kept_from_ && kept_from_ != kept_to_) next_ = kept_to_;
  }

  void release(std::size_t at) {
    if (places_[at].start == nullptr) return;
    harness::release_stamped(heap_, places_[at], harness::stamp_of(at));
    places_[at] = {};
  }

  Heap& heap_;
  std::span<harness::block> places_;
  std::size_t window_;
  std::size_t next_ = 0;
  std::size_t kept_from_ = 0;  // the window: [kept_from_, kept_to_)
  std::size_t kept_to_ = 0;
};

class shbench final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"shbench", "bursts of small objects, freed in order and in reverse, a fifth of them later",
            "shbench --threads 2 --calls 1000 --min-size 1 --size-limit 8"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_);
    options.count("calls", calls_, {1, 100'000'000}, "Repetitions of all bursts, divided among the threads");
    sizes_.declare(options, {1, std::uint64_t{1} << 20}, harness::upper_end::excluded);
    harness::declare_live_objects(options, places_, {10, 100'000'000});
  }

  void check(const harness::option_table& options) override {
    if (sizes_.least >= sizes_.most)
      throw harness::usage_error("--min-size must be below --size-limit, which itself is never requested");
    if (calls_ < threads_) throw harness::usage_error("--calls must not be fewer than --threads");
    if (!options.given("live-objects")) places_ = std::max<std::uint64_t>(calls_ / threads_, 10);
    harness::require_memory(threads_ * places_ * sizes_.most,
                            "--live-objects of --size-limit bytes in --threads");
  }

  harness::size_mix sizes() const override { return {sizes_.least, sizes_.most - 1}; }

  void run(harness::measurement& measured) override {
    bursts_ = list_bursts(sizes_.least, sizes_.most);
    blocks_ = harness::thread_arrays<harness::block>(threads_, places_);
    run_team(measured);
    std::uint64_t objects = 0;
    for (const burst& planned : bursts_) objects += planned.objects;
    const std::uint64_t calls_of_each = calls_ / threads_;
    measured.add_metric("pairs", static_cast<double>(calls_of_each * threads_ * objects), "1");
  }

private:
  void run(unsigned thread) override {
    measured_->with_heap(thread, [&](auto& heap) {
      object_ring ring(heap, blocks_[thread]);
      for (std::uint64_t call = 0; call < calls_ / threads_; ++call)
        for (const burst& planned : bursts_)
          for (unsigned i = 0; i < planned.objects; ++i) ring.add(planned.bytes);
      ring.release_all();
    });
  }

  std::uint64_t calls_ = 1000;
  std::uint64_t places_ = 1000;
  harness::size_mix sizes_{1, 1000};
  std::vector<burst> bursts_;
  harness::thread_arrays<harness::block> blocks_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<shbench>(argc, argv);
}
