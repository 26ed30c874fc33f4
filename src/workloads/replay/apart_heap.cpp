#include "workloads/replay/apart_heap.h"

#include <sched.h>

#include <algorithm>
#include <bit>

#include "base/assertion.h"
#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::replay {

// Stands at the beginning of its 64 KiB. Blocks lie at multiples of their size's power of two, so that a size
// that is a multiple of an alignment is aligned to it.
struct apart_heap::chunk {
  std::size_t size = 0;        // of its blocks
  std::size_t blocks = 0;      // that live
  std::size_t untouched = 0;   // offset of the first byte that no block has had
  free_block* free = nullptr;  // blocks that lived
  chunk* next = nullptr;       // in the list of chunks with room
  chunk* before = nullptr;

  bool is_full() const { return free == nullptr && untouched + size > chunk_bytes; }
};

class apart_heap::lock {
public:
  explicit lock(apart_heap& heap) : heap_(heap) {
    // acquire pairs with the release below: what the last holder wrote is visible.
    while (heap_.locked_.exchange(true, std::memory_order_acquire)) ::sched_yield();
  }
  ~lock() { heap_.locked_.store(false, std::memory_order_release); }
  lock(const lock&) = delete;
  lock& operator=(const lock&) = delete;

private:
  apart_heap& heap_;
};

// Up to 1 KiB each multiple of 16 is a size; above, four sizes lie between two powers of two.
std::size_t apart_heap::size_of_block(std::size_t bytes, std::size_t alignment) {
  constexpr std::size_t finely = 1024;
  const std::size_t wanted = align_up(std::max(bytes, smallest), std::max(alignment, smallest));
  const std::size_t step = wanted <= finely ? smallest : std::bit_floor(wanted - 1) / 4;
  const std::size_t size = align_up(wanted, step);
  const bool fits = size <= largest_small && (alignment == 0 || size % alignment == 0);
  return fits ? size : align_up(std::max(wanted, largest_small + 1), os_pages::page_bytes());
}

void* apart_heap::allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t size = size_of_block(bytes, alignment);
  if (!is_small(size)) return os_pages::allocate(size, std::max(alignment, os_pages::page_bytes()));
  const lock held(*this);
  chunk* from = with_room_[size / smallest];
  if (from == nullptr) from = open_chunk(size);
  if (from == nullptr) return nullptr;
  void* block = from->free;
  if (block != nullptr) {
    from->free = from->free->next;
  } else {
    block = reinterpret_cast<std::byte*>(from) + from->untouched;
    from->untouched += size;
  }
  ++from->blocks;
  if (from->is_full()) unlink(from);
  HEAPLAB_ASSERT_EXPENSIVE(is_sound(*from));
  return block;
}

void apart_heap::release(void* block, std::size_t bytes, std::size_t alignment) {
  const std::size_t size = size_of_block(bytes, alignment);
  if (!is_small(size)) {
    os_pages::unmap(block, size);
    return;
  }
  const lock held(*this);
  chunk* const of = chunk_of(block);
  HEAPLAB_ASSERT(of->size == size && of->blocks != 0);
  if (of->is_full()) link(of);
  of->free = new (block) free_block{of->free};
  --of->blocks;
  HEAPLAB_ASSERT_EXPENSIVE(is_sound(*of));
  if (of->blocks != 0) return;
  unlink(of);
  os_pages::unmap(of, chunk_bytes);
}

apart_heap::chunk* apart_heap::chunk_of(void* block) {
  return reinterpret_cast<chunk*>(reinterpret_cast<std::uintptr_t>(block) & ~(chunk_bytes - 1));
}

apart_heap::chunk* apart_heap::open_chunk(std::size_t size) {
  void* const pages = os_pages::allocate(chunk_bytes, chunk_bytes);
  if (pages == nullptr) return nullptr;
  os_pages::advise_huge(pages, chunk_bytes, false);
  const std::size_t alignment = size & (~size + 1);
  chunk* const made = new (pages) chunk{.size = size, .untouched = align_up(sizeof(chunk), alignment)};
  link(made);
  return made;
}

void apart_heap::link(chunk* added) {
  chunk*& first = with_room_[added->size / smallest];
  added->next = first;
  added->before = nullptr;
  if (first != nullptr) first->before = added;
  first = added;
}

void apart_heap::unlink(chunk* removed) {
  chunk*& first = with_room_[removed->size / smallest];
  (removed->before != nullptr ? removed->before->next : first) = removed->next;
  if (removed->next != nullptr) removed->next->before = removed->before;
  removed->next = removed->before = nullptr;
}

// Every byte behind the head belongs to a live block, to a free block in the chunk's list, or to what was
// never handed out. The chunk is in the list of its size if and only if it has room.
bool apart_heap::is_sound(const chunk& held) const {
  std::size_t free = 0;
  for (const free_block* block = held.free; block != nullptr; block = block->next) ++free;
  const std::size_t begin = align_up(sizeof(chunk), held.size & (~held.size + 1));
  bool listed = false;
  for (const chunk* at = with_room_[held.size / smallest]; at != nullptr; at = at->next)
    listed |= at == &held;
  return begin + (held.blocks + free) * held.size == held.untouched && listed == !held.is_full();
}

}  // namespace heaplab::replay
