// The only file that is compiled with -fsanitize=thread: all code of scalloc that is simulated is
// instantiated here.
#include "allocators/scalloc/policy/variants.h"

#include "coherence/program.h"
#include "coherence/simulated_heap.h"

namespace heaplab::coherence {
namespace {

template <const scalloc::config& Config>
class program_of : public program {
  using lab_type = typename simulated_heap<Config>::lab_type;

public:
  explicit program_of(unsigned threads) : buffers_(threads) {
    for (unsigned thread = 0; thread < threads; ++thread) begin_thread(thread);
  }

  // The program's own variables are read and written between the turns, where nothing is counted.
  void begin_thread(unsigned thread) override {
    lab_type* local = nullptr;
    add(machine_.run(thread, [&] { local = &heap_.begin_thread(thread); }), 0, false);
    buffers_[thread] = local;
  }
  void end_thread(unsigned thread) override {
    lab_type& local = *buffers_[thread];
    add(machine_.run(thread, [&] { heap_.end_thread(local); }), 0, false);
  }

  void* allocate(unsigned thread, std::size_t bytes) override {
    lab_type& local = *buffers_[thread];
    void* block = nullptr;
    bool fast = false;
    const counts seen = machine_.run(thread, [&] { block = heap_.allocate(local, bytes, fast); });
    add(seen, 1, fast);
    machine_.run(thread, [&] { machine_.write(block); });
    return block;
  }

  void deallocate(unsigned thread, void* block) override {
    lab_type& local = *buffers_[thread];
    bool fast = false;
    machine_.run(thread, [&] { machine_.read(block); });
    const counts seen = machine_.run(thread, [&] { heap_.deallocate(local, block, fast); });
    add(seen, 1, fast);
  }

  unsigned blocks_in_span(std::size_t bytes) const override {
    using classes = typename simulated_heap<Config>::classes;
    return classes::table[classes::index_of(bytes)].blocks;
  }

private:
  simulated_heap<Config> heap_;
  std::vector<lab_type*> buffers_;
};

template <auto Make>
constexpr scalloc::config config_of = Make();

template <auto Make>
constexpr variant variant_of = {config_of<Make>.name, [](unsigned threads) -> std::unique_ptr<program> {
                                  return std::make_unique<program_of<config_of<Make>>>(threads);
                                }};

constexpr variant all_variants[] = {
    variant_of<&scalloc::standard>,
    variant_of<&scalloc::paper>,
    variant_of<&scalloc::no_madvise>,
    variant_of<&scalloc::single_stack>,
    variant_of<&scalloc::reclaim_in_malloc>,
    variant_of<&scalloc::no_reuse>,
    variant_of<&scalloc::clab>,
    variant_of<&scalloc::huge_pages>,
};

}  // namespace

std::span<const variant> variants() {
  return all_variants;
}

}  // namespace heaplab::coherence
