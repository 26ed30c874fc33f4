// A program that replaces one form of operator new and the operator delete of the same form, and leaves all
// others to the malloc library: C++20 [new.delete] says which of those must come to the program's. The pair
// is HEAPLAB_REPLACED: plain, array, aligned or aligned_array. Exit status 0: so it is, 1: not (a line for
// each form says what).
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <new>
#include <utility>

#define HEAPLAB_PLAIN 1
#define HEAPLAB_ARRAY 2
#define HEAPLAB_ALIGNED 3
#define HEAPLAB_ALIGNED_ARRAY 4

namespace {

constexpr std::size_t size = 40;
constexpr auto wide = std::align_val_t{64};

// The program's blocks lie here and nowhere else.
class own_blocks {
public:
  void* take() {
    cell* const unused = refuses ? std::end(cells_) : std::ranges::find(cells_, false, &cell::used);
    if (unused == std::end(cells_)) throw std::bad_alloc();
    unused->used = true;
    return unused->bytes;
  }
  void release(void* block) {
    if (!has(block) || !std::exchange(cells_[static_cast<cell*>(block) - cells_].used, false))
      took_foreign_block = true;
  }
  bool has(const void* block) const {
    return std::ranges::any_of(cells_, [block](const cell& held) { return held.bytes == block; });
  }
  bool all_back() const { return std::ranges::none_of(cells_, &cell::used); }

  bool refuses = false;
  bool took_foreign_block = false;

private:
  struct cell {
    alignas(64) char bytes[size];
    bool used;
  };
  cell cells_[32] = {};
};

constinit own_blocks own;

}  // namespace

#if HEAPLAB_REPLACED == HEAPLAB_PLAIN
void* operator new(std::size_t) {
  return own.take();
}
void operator delete(void* block) noexcept {
  own.release(block);
}
#elif HEAPLAB_REPLACED == HEAPLAB_ARRAY
void* operator new[](std::size_t) {
  return own.take();
}
void operator delete[](void* block) noexcept {
  own.release(block);
}
#elif HEAPLAB_REPLACED == HEAPLAB_ALIGNED
void* operator new(std::size_t, std::align_val_t) {
  return own.take();
}
void operator delete(void* block, std::align_val_t) noexcept {
  own.release(block);
}
#elif HEAPLAB_REPLACED == HEAPLAB_ALIGNED_ARRAY
void* operator new[](std::size_t, std::align_val_t) {
  return own.take();
}
void operator delete[](void* block, std::align_val_t) noexcept {
  own.release(block);
}
#endif

namespace {

struct allocating_form {
  const char* name;
  void* (*allocate)();
  unsigned kind;  // the pair whose new it must come to, or whose array form calls that
  bool throws;
};

struct freeing_form {
  const char* name;
  void (*release)(void*);
  unsigned kind;
};

constexpr allocating_form allocating[] = {
    {"new", [] { return ::operator new(size); }, HEAPLAB_PLAIN, true},
    {"new nothrow", [] { return ::operator new(size, std::nothrow); }, HEAPLAB_PLAIN, false},
    {"new[]", [] { return ::operator new[](size); }, HEAPLAB_ARRAY, true},
    {"new[] nothrow", [] { return ::operator new[](size, std::nothrow); }, HEAPLAB_ARRAY, false},
    {"new aligned", [] { return ::operator new(size, wide); }, HEAPLAB_ALIGNED, true},
    {"new aligned nothrow", [] { return ::operator new(size, wide, std::nothrow); }, HEAPLAB_ALIGNED, false},
    {"new[] aligned", [] { return ::operator new[](size, wide); }, HEAPLAB_ALIGNED_ARRAY, true},
    {"new[] aligned nothrow", [] { return ::operator new[](size, wide, std::nothrow); },
     HEAPLAB_ALIGNED_ARRAY, false},
};

constexpr freeing_form freeing[] = {
    {"delete", [](void* block) { ::operator delete(block); }, HEAPLAB_PLAIN},
    {"delete nothrow", [](void* block) { ::operator delete(block, std::nothrow); }, HEAPLAB_PLAIN},
    {"delete sized", [](void* block) { ::operator delete(block, size); }, HEAPLAB_PLAIN},
    {"delete[]", [](void* block) { ::operator delete[](block); }, HEAPLAB_ARRAY},
    {"delete[] nothrow", [](void* block) { ::operator delete[](block, std::nothrow); }, HEAPLAB_ARRAY},
    {"delete[] sized", [](void* block) { ::operator delete[](block, size); }, HEAPLAB_ARRAY},
    {"delete aligned", [](void* block) { ::operator delete(block, wide); }, HEAPLAB_ALIGNED},
    {"delete aligned nothrow", [](void* block) { ::operator delete(block, wide, std::nothrow); },
     HEAPLAB_ALIGNED},
    {"delete aligned sized", [](void* block) { ::operator delete(block, size, wide); }, HEAPLAB_ALIGNED},
    {"delete[] aligned", [](void* block) { ::operator delete[](block, wide); }, HEAPLAB_ALIGNED_ARRAY},
    {"delete[] aligned nothrow", [](void* block) { ::operator delete[](block, wide, std::nothrow); },
     HEAPLAB_ALIGNED_ARRAY},
    {"delete[] aligned sized", [](void* block) { ::operator delete[](block, size, wide); },
     HEAPLAB_ALIGNED_ARRAY},
};

// The array forms come to the form for one object.
constexpr bool comes_to_own(unsigned kind) {
  return kind == HEAPLAB_REPLACED || (kind == HEAPLAB_REPLACED + 1 && kind % 2 == 0);
}

unsigned faults = 0;

void require(bool holds, const char* form, const char* what) {
  if (holds) return;
  ++faults;
  std::printf("%s: %s\n", form, what);
}

void check_allocation(const allocating_form& form) {
  void* const block = form.allocate();
  require(own.has(block) == comes_to_own(form.kind), form.name, "the block is not of the right new");
  if (own.has(block)) own.release(block);

  own.refuses = true;
  bool thrown = false;
  void* refused = nullptr;
  try {
    refused = form.allocate();
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  own.refuses = false;
  if (!comes_to_own(form.kind)) return;
  require(thrown == form.throws && refused == nullptr, form.name, "out of memory, and reports it otherwise");
}

void check_release(const freeing_form& form) {
  if (!comes_to_own(form.kind)) return;
  form.release(own.take());
  require(own.all_back(), form.name, "the block did not come to the right delete");
}

// Whatever form of new allocates a block, every form of delete of the same kind may free it.
void check_pairs() {
  for (const allocating_form& from : allocating)
    for (const freeing_form& to : freeing)
      if (from.kind == to.kind) to.release(from.allocate());
  require(!own.took_foreign_block && own.all_back(), "pairs of new and delete", "a block went astray");
}

}  // namespace

int main() {
  for (const allocating_form& form : allocating) check_allocation(form);
  for (const freeing_form& form : freeing) check_release(form);
  if (faults == 0) check_pairs();
  return faults == 0 ? 0 : 1;
}
