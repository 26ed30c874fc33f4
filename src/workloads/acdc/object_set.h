// The objects of a lifetime-size-class: a list in the order of allocation, or a tree built in pre-order from
// left to right (paper section 2 and Figure 2).
//
// The first bytes of an object are its links. A link is the address of an object xor the key of its class.
// Only the upper 16 bits of a key are set; those of an address are 0. A walk therefore detects a link that
// was overwritten before following it, and the number of visited objects tells whether an object was returned
// twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/assertion.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/cache_line.h"
#include "base/compiler.h"
#include "workloads/acdc/class_plan.h"
#include "workloads/acdc/give_up.h"
#include "workloads/acdc/null_heap.h"
#include "workloads/acdc/write_pacer.h"

namespace heaplab::acdc {

struct object_set {
  std::byte* first = nullptr;
  std::uint64_t count = 0;
  std::uint64_t size = 0;
  std::uint64_t key = 0;
  structure shape = structure::list;

  std::uint64_t bytes() const { return size * count; }
};

// How objects are allocated: each by a call of its own, or all as cells of one block.
struct placement {
  bool one_block = false;
  std::size_t alignment = 1;  // of a cell

  explicit placement(pseudo_allocator stand_in)
      : one_block(stand_in == pseudo_allocator::compact || stand_in == pseudo_allocator::align),
        alignment(stand_in == pseudo_allocator::align ? cache_line_bytes : 1) {}

  std::size_t cell(std::size_t size) const { return align_up(size, alignment); }
};

namespace links {

// memcpy, because objects of the compact baseline lie at odd addresses.
HEAPLAB_FAST_PATH void write(std::byte* object, unsigned index, const std::byte* target, std::uint64_t key) {
  const std::uint64_t word = reinterpret_cast<std::uintptr_t>(target) ^ key;
  std::memcpy(object + std::size_t{8} * index, &word, sizeof word);
}

HEAPLAB_FAST_PATH std::byte* read(const std::byte* object, unsigned index, std::uint64_t key) {
  std::uint64_t word;
  std::memcpy(&word, object + std::size_t{8} * index, sizeof word);
  word ^= key;
  if (word >> 48 != 0) [[unlikely]]
    give_up("self-check failed: an object was written by somebody else");
  return reinterpret_cast<std::byte*>(word);
}

inline void expect_count(bool held) {
  if (!held) [[unlikely]]
    give_up("self-check failed: a block was given out twice");
}

}  // namespace links

// The alignment that malloc guarantees for an object of this size.
constexpr std::size_t required_alignment(std::size_t size) {
  return size < alignof(std::max_align_t) ? 8 : alignof(std::max_align_t);
}

template <class Heap>
class builder {
public:
  builder(Heap& heap, const object_set& set) : heap_(heap), set_(set) {}

  std::byte* list() {
    std::byte* const first = take();
    std::byte* last = first;
    for (std::uint64_t i = 1; i < set_.count; ++i) {
      std::byte* const object = take();
      links::write(last, 0, object, set_.key);
      last = object;
    }
    links::write(last, 0, nullptr, set_.key);
    return first;
  }

  std::byte* tree(std::uint64_t count) {
    if (count == 0) return nullptr;
    std::byte* const object = take();
    const std::uint64_t left = (count - 1) / 2;
    links::write(object, 0, tree(left), set_.key);
    links::write(object, 1, tree(count - 1 - left), set_.key);
    return object;
  }

  bool aligned() const { return (addresses_ & (required_alignment(set_.size) - 1)) == 0; }

private:
  HEAPLAB_FAST_PATH std::byte* take() {
    auto* const object = static_cast<std::byte*>(heap_.allocate(set_.size));
    addresses_ |= reinterpret_cast<std::uintptr_t>(object);
    return object;
  }

  Heap& heap_;
  const object_set& set_;
  std::uintptr_t addresses_ = 0;  // bitwise or of all addresses
};

// Links the cells of one block: a list from cell to cell, or a tree in which cell i has the children 2i+1 and
// 2i+2.
inline void link_cells(const object_set& set, std::size_t cell) {
  const auto at = [&](std::uint64_t index) { return index < set.count ? set.first + index * cell : nullptr; };
  for (std::uint64_t i = 0; i < set.count; ++i) {
    if (set.shape == structure::list) {
      links::write(at(i), 0, at(i + 1), set.key);
    } else {
      links::write(at(i), 0, at(2 * i + 1), set.key);
      links::write(at(i), 1, at(2 * i + 2), set.key);
    }
  }
}

// Allocates the objects of an empty set.
template <class Heap>
void allocate_objects(Heap& heap, object_set& set, const placement& where) {
  HEAPLAB_ASSERT(set.first == nullptr && set.count > 0);
  if (where.one_block) {
    const std::size_t bytes = where.cell(set.size) * set.count;
    set.first = static_cast<std::byte*>(where.alignment == 1 ? heap.allocate(bytes)
                                                             : heap.allocate_aligned(where.alignment, bytes));
    if (!is_aligned(set.first, std::max(where.alignment, required_alignment(bytes)))) [[unlikely]]
      give_up("self-check failed: a block is not aligned");
    link_cells(set, where.cell(set.size));
    return;
  }
  builder<Heap> build(heap, set);
  set.first = set.shape == structure::list ? build.list() : build.tree(set.count);
  if (!build.aligned()) [[unlikely]]
    give_up("self-check failed: a block is not aligned");
}

// Calls visit(object) for every object: a list from first to last, a tree in pre-order from right to left.
// The links are read before the visit, because the visit may free the object.
template <class Visit>
class walk {
public:
  walk(const object_set& set, Visit visit) : left_(set.count), key_(set.key), visit_(visit) {
    if (set.shape == structure::list) {
      list(set.first);
    } else {
      tree(set.first, 0);
    }
    links::expect_count(left_ == 0);
  }

private:
  static constexpr unsigned deepest = 64;  // the depth of a tree of 2^64 objects that halves at each level

  void list(std::byte* object) {
    while (object != nullptr) {
      links::expect_count(left_-- != 0);
      std::byte* const next = links::read(object, 0, key_);
      visit_(object);
      object = next;
    }
  }

  void tree(std::byte* object, unsigned depth) {
    if (object == nullptr) return;
    links::expect_count(left_-- != 0 && depth <= deepest);
    std::byte* const left = links::read(object, 0, key_);
    std::byte* const right = links::read(object, 1, key_);
    visit_(object);
    tree(right, depth + 1);
    tree(left, depth + 1);
  }

  std::uint64_t left_;
  std::uint64_t key_;
  Visit visit_;
};

// Every byte after the first becomes its predecessor plus one. Threads that share an object may do this at
// the same time: the bytes are atomic, and all threads write the same values.
inline void write_payload(std::byte* payload, std::size_t bytes, std::uint64_t iterations) {
  const auto at = [&](std::size_t index) {
    return atomic_ref<unsigned char>(*reinterpret_cast<unsigned char*>(payload + index));
  };
  for (std::uint64_t i = 0; i < iterations; ++i)
    for (std::size_t j = 1; j < bytes; ++j)
      at(j).store(static_cast<unsigned char>(at(j - 1).load(std::memory_order_relaxed) + 1),
                  std::memory_order_relaxed);
}

inline void access_objects(const object_set& set, write_pacer& pacer, std::uint64_t iterations) {
  const std::uint64_t link_bytes = set.shape == structure::list ? list_links : tree_links;
  walk(set, [&](std::byte* object) {
    if (pacer.next()) write_payload(object + link_bytes, set.size - link_bytes, iterations);
  });
}

template <class Heap>
void release_objects(Heap& heap, const object_set& set, const placement& where) {
  if (where.one_block) {
    heap.release(set.first);
  } else if constexpr (std::is_same_v<Heap, null_heap>) {
    for (std::uint64_t i = 0; i < set.count; ++i) heap.release(set.first);
  } else {
    walk(set, [&](std::byte* object) { heap.release(object); });
  }
}

}  // namespace heaplab::acdc
