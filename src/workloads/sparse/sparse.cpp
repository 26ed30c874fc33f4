// Objects of which the program writes few pages or none, like tables with room to grow, sparse matrices, and
// buffers for the worst case. The workload shows how much more memory becomes resident than was written:
// because the allocator clears memory that is already zero, or uses huge pages for the objects.
#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

class sparse final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"sparse", "objects of which few pages are written",
            "sparse --objects 64 --size 1MiB --zeroed --written-pages 1"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_, 256);
    harness::declare_objects(options, objects_, 1'000'000);
    harness::declare_size(options, size_, std::uint64_t{1} << 40);
    options.flag("zeroed", zeroed_, "Whether the objects come from calloc");
    options.count("written-pages", written_, {0, 1'000'000}, "Pages written of each object, evenly spread");
    options.size("filled-first", filled_first_, {0, std::uint64_t{1} << 36},
                 "Each thread first fills two objects of this size, one after the other; 0: none");
  }

  void check(const harness::option_table&) override {
    if (size_ < written_ * page) throw harness::usage_error("--written-pages must fit into --size");
    harness::require_memory(threads_ * (objects_ * written_ * page + filled_first_),
                            "--written-pages of --objects and --filled-first");
  }

  harness::size_mix sizes() const override { return {size_, size_}; }

  void run(harness::measurement& measured) override {
    held_ = harness::thread_arrays<harness::block>(threads_, objects_);
    run_team(measured);
    measured.add_metric("written_memory", static_cast<double>(threads_ * objects_ * written_ * page), "B");
  }

private:
  static constexpr std::size_t page = 4096;

  void run(unsigned thread) override {
    measured_->with_heap(thread, [&](auto& heap) {
      if (filled_first_ > 0) fill_and_free(heap), fill_and_free(heap);
      const std::span<harness::block> held = held_[thread];
      for (std::size_t i = 0; i < held.size(); ++i) {
        held[i] = {zeroed_ ? heap.allocate_zeroed(size_) : heap.allocate(size_), size_};
        write_pages(held[i], harness::stamp_of(i));
      }
      for (std::size_t i = 0; i < held.size(); ++i) {
        for (std::uint64_t number = 0; number < written_; ++number)
          harness::expect_stamp(page_of(held[i], number), harness::stamp_of(i));
        heap.release(held[i].start);
      }
    });
  }

  template <class Heap>
  void fill_and_free(Heap& heap) const {
    auto* const object = static_cast<char*>(heap.allocate(filled_first_));
    for (std::size_t at = 0; at < filled_first_; at += page) object[at] = 1;
    heap.release(object);
  }

  // Writes both ends of each page that is to be written.
  void write_pages(harness::block fresh, std::uint8_t stamp) const {
    if (!is_aligned(fresh.start, harness::required_alignment(size_))) [[unlikely]]
      harness::broken_block(fresh, "is not aligned");
    for (std::uint64_t number = 0; number < written_; ++number) {
      if (zeroed_) harness::expect_stamp(page_of(fresh, number), 0);
      harness::write_stamp(page_of(fresh, number), stamp);
    }
  }

  harness::block page_of(harness::block object, std::uint64_t number) const {
    return {static_cast<char*>(object.start) + number * (size_ / written_), page};
  }

  std::uint64_t objects_ = 64;
  std::uint64_t size_ = std::uint64_t{1} << 20;
  bool zeroed_ = true;
  std::uint64_t written_ = 1;
  std::uint64_t filled_first_ = 0;
  harness::thread_arrays<harness::block> held_;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<sparse>(argc, argv);
}
