// Any sequence of operations keeps contents, sticky properties, and blocks apart.
#include <gtest/gtest.h>
// gtest first.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "heaps.h"

namespace heaplab::llheap {
namespace {

// A live block and all that is promised of it.
struct promise {
  void* block;
  std::size_t size;
  std::size_t alignment;
  bool zero_filled;
  std::vector<unsigned char> contents;
};

struct step {
  unsigned choice, target;
  std::size_t size;
  unsigned alignment_log2;
};

rc::Gen<step> any_step() {
  const auto size =
      rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 200), rc::gen::inRange<std::size_t>(0, 9000),
                     rc::gen::inRange<std::size_t>(0, 1'500'000));
  return rc::gen::construct<step>(rc::gen::inRange(0U, 8U), rc::gen::arbitrary<unsigned>(), size,
                                  rc::gen::inRange(0U, 16U));
}

template <class Heap>
class model {
public:
  ~model() {
    for (promise& each : live_) Heap::deallocate(each.block);
  }

  void run(const step& now) {
    const std::size_t alignment = std::max<std::size_t>(std::size_t{1} << now.alignment_log2, 16);
    if (live_.empty() || now.choice <= 2) {
      if (now.choice == 0) add(Heap::allocate(now.size), now.size, 16, false);
      if (now.choice == 1) add(Heap::allocate_zeroed(now.size), now.size, 16, true);
      if (now.choice >= 2) add(Heap::allocate_aligned(alignment, now.size), now.size, alignment, false);
      return;
    }
    promise& old = live_[now.target % live_.size()];
    check(old);
    const std::size_t kept = std::min(old.size, now.size);
    switch (now.choice) {
      case 3:
        Heap::deallocate(old.block);
        old = live_.back();
        live_.pop_back();
        return;
      case 4:
        old.block = Heap::reallocate(old.block, now.size);
        break;
      case 5:
        old.block = Heap::reallocate_aligned(old.block, alignment, now.size);
        old.alignment = alignment;
        break;
      case 6:
        old.block = Heap::resize_aligned(old.block, alignment, now.size);
        old.alignment = alignment;
        old.zero_filled = false;
        break;
      default:
        old.block = Heap::resize(old.block, now.size);
        old.alignment = 16;
        old.zero_filled = false;
    }
    RC_ASSERT((old.block != nullptr));
    old.size = now.size;
    if (now.choice >= 6) return fill(old);
    old.contents.resize(kept);
    check(old);
    fill(old);
  }

  void check_all() const {
    for (const promise& each : live_) check(each);
  }

private:
  void add(void* block, std::size_t size, std::size_t alignment, bool zero) {
    RC_ASSERT((block != nullptr));
    live_.push_back({block, size, alignment, zero, {}});
    check(live_.back());
    fill(live_.back());
  }

  // New contents, different in every block.
  void fill(promise& each) {
    each.contents.assign(each.size, static_cast<unsigned char>(++fills_ % 255 + 1));
    std::copy(each.contents.begin(), each.contents.end(), bytes(each.block));
  }

  static void check(const promise& each) {
    RC_ASSERT(is_aligned(each.block, each.alignment));
    RC_ASSERT(Heap::alignment(each.block) == each.alignment);
    RC_ASSERT(Heap::request_size(each.block) == each.size);
    RC_ASSERT(Heap::usable_size(each.block) >= each.size);
    RC_ASSERT(Heap::is_zero_filled(each.block) == each.zero_filled);
    RC_ASSERT(std::equal(each.contents.begin(), each.contents.end(), bytes(each.block)));
    const std::size_t zero_from = each.zero_filled ? each.contents.size() : each.size;
    const std::size_t zero_to = each.zero_filled ? Heap::usable_size(each.block) : each.size;
    RC_ASSERT(all_zero(each.block, zero_from, zero_to));
  }

  std::vector<promise> live_;
  unsigned fills_ = 0;
};

template <class Heap>
void keeps_every_promise() {
  const auto steps = *rc::gen::container<std::vector<step>>(any_step());
  model<Heap> heap;
  for (const step& each : steps) heap.run(each);
  heap.check_all();
}

RC_GTEST_PROP(properties, plain, ()) {
  keeps_every_promise<small_heap>();
}
RC_GTEST_PROP(properties, without_ownership, ()) {
  keeps_every_promise<small_without_ownership>();
}
RC_GTEST_PROP(properties, debugging, ()) {
  keeps_every_promise<small_debugging>();
}

}  // namespace
}  // namespace heaplab::llheap
