#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bits.h"
#include "base/platform.h"

namespace heaplab::concurrent {

// Mappings that the system refused to unmap, as at the limit of mappings. They wait here, each with one page
// of memory, for a request that they fit, or until the system takes them.
//
// The list is lock-free: a thread pushes mappings one by one; a thread that searches takes the whole list and
// pushes back the rest, so that other threads may find the list empty meanwhile. A child of fork may lose
// what another thread had taken; that loses addresses, no memory.
template <class Sync, class Platform = system_platform>
class unreturned_mappings {
public:
  // Unmaps whole pages, or keeps them if the system refuses. make_accessible() makes them readable and
  // writable first; where it returns false the addresses are lost.
  template <class MakeAccessible>
  void release(void* start, std::size_t bytes, MakeAccessible&& make_accessible) {
    if (!Platform::unmap(start, bytes)) {
      if (make_accessible()) return keep(start, bytes);
      Platform::purge(start, bytes);
      return;
    }
    // The process has one mapping less, or a smaller one, so that the system may take others now. After one
    // failure a free tries no further.
    release_until(1);
  }

  // The same for pages that are readable and writable.
  void release(void* start, std::size_t bytes) {
    release(start, bytes, [] { return true; });
  }

  // Keeps pages that the system has refused to take: zero, but for their first 16 bytes.
  void keep(void* start, std::size_t bytes) {
    char first[note_offset];
    std::memcpy(first, start, sizeof first);
    // The kernel does not purge locked pages.
    if (!Platform::purge(start, bytes)) std::memset(start, 0, bytes);
    std::memcpy(start, first, sizeof first);
    push(write_note(static_cast<char*>(start), bytes));
  }

  // Asks the system again to take each. True if the system took some.
  bool release_all() { return release_until(SIZE_MAX); }

  // Takes zeroed pages from the smallest mapping that has enough of them and begins at a multiple of
  // `alignment`; the rest of the mapping stays. Null: no mapping fits.
  void* try_take(std::size_t bytes, std::size_t alignment) {
    note* all = take_all();
    note** best = nullptr;
    for (note** link = &all; *link != nullptr; link = &(*link)->next) {
      const std::size_t size = (*link)->bytes;
      if (size < bytes || !is_aligned(start_of(*link), alignment)) continue;
      if (best == nullptr || size < (*best)->bytes) best = link;
    }
    note* const found = best == nullptr ? nullptr : *best;
    if (found != nullptr) *best = found->next;
    push(all);
    return found == nullptr ? nullptr : cut(found, bytes);
  }

private:
  // Lies in the first page, behind the bytes that callers of keep() still read there.
  struct note {
    note* next;
    std::size_t bytes;
  };
  static constexpr std::size_t note_offset = 16;

  static char* start_of(note* mapping) { return reinterpret_cast<char*>(mapping) - note_offset; }

  static note* write_note(char* start, std::size_t bytes) {
    note* const mapping = reinterpret_cast<note*>(start + note_offset);
    *mapping = {nullptr, bytes};
    return mapping;
  }

  void* cut(note* mapping, std::size_t bytes) {
    char* const start = start_of(mapping);
    if (mapping->bytes > bytes) push(write_note(start + bytes, mapping->bytes - bytes));
    std::memset(start, 0, note_offset + sizeof(note));
    return start;
  }

  bool release_until(std::size_t failures) {
    bool any = false;
    note* refused = nullptr;
    note* all = take_all();
    while (all != nullptr && failures > 0) {
      note* const mapping = all;
      all = mapping->next;
      if (Platform::unmap(start_of(mapping), mapping->bytes)) {
        any = true;
      } else {
        mapping->next = refused;
        refused = mapping;
        --failures;
      }
    }
    push(all);
    push(refused);
    return any;
  }

  // acquire pairs with push: the notes are visible. relaxed: a list that looks empty is not taken.
  note* take_all() {
    return newest_.load(std::memory_order_relaxed) == nullptr
               ? nullptr
               : newest_.exchange(nullptr, std::memory_order_acquire);
  }

  // Pushes a chain of notes. release publishes the notes, and pairs with take_all.
  void push(note* chain) {
    if (chain == nullptr) return;
    note* last = chain;
    while (last->next != nullptr) last = last->next;
    note* seen = newest_.load(std::memory_order_relaxed);
    do last->next = seen;
    while (!newest_.compare_exchange_weak(seen, chain, std::memory_order_release, std::memory_order_relaxed));
  }

  typename Sync::template atomic<note*> newest_{nullptr};
};

}  // namespace heaplab::concurrent
