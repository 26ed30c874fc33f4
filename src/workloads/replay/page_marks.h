#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::replay {

// The pages that have ever held a block. Threads mark pages at the same time; they are counted where all
// threads meet, which orders the marks.
//
// A bit for each page of the address space, and above these a bit for each page of such bits: address space
// that costs memory only where pages are marked.
class page_marks {
public:
  page_marks()
      : bits_(static_cast<word*>(os_pages::reserve(bits_bytes(), os_pages::page_bytes()))),
        groups_(static_cast<word*>(os_pages::reserve(groups_bytes(), os_pages::page_bytes()))) {
    if (bits_ == nullptr || groups_ == nullptr) throw std::bad_alloc();
    os_pages::advise_huge(bits_, bits_bytes(), false);
    os_pages::advise_huge(groups_, groups_bytes(), false);
  }
  ~page_marks() {
    os_pages::unmap(bits_, bits_bytes());
    os_pages::unmap(groups_, groups_bytes());
  }
  page_marks(const page_marks&) = delete;
  page_marks& operator=(const page_marks&) = delete;

  void mark(const void* block, std::size_t bytes) {
    const auto start = reinterpret_cast<std::uintptr_t>(block);
    const std::uintptr_t last = (start + (bytes == 0 ? 0 : bytes - 1)) / os_pages::page_bytes();
    for (std::uintptr_t page = start / os_pages::page_bytes(); page <= last; ++page) mark_page(page);
  }

  bool is_marked(std::uintptr_t page) const { return is_set(bits_, page); }

  // Calls `visit` with the number of each marked page, ascending.
  template <class Visit>
  void each(Visit visit) const {
    each_bit(groups_, 0, groups_bytes() / sizeof(word), [&](std::uintptr_t group) {
      each_bit(bits_, group * words_of_group(), words_of_group(), visit);
    });
  }

  // Memory of the marks themselves.
  std::size_t resident_bytes() const {
    std::size_t pages = 0;
    std::uintptr_t last = ~std::uintptr_t{0};  // page of groups_
    each_bit(groups_, 0, groups_bytes() / sizeof(word), [&](std::uintptr_t group) {
      const std::uintptr_t page = group / (8 * os_pages::page_bytes());
      pages += 1 + (page != std::exchange(last, page) ? 1 : 0);
    });
    return pages * os_pages::page_bytes();
  }

private:
  using word = atomic<std::uint64_t>;
  static constexpr unsigned address_bits = 48;
  static constexpr std::size_t bits_of_word = 64;

  static std::size_t bits_bytes() { return (std::size_t{1} << address_bits) / os_pages::page_bytes() / 8; }
  static std::size_t words_of_group() { return os_pages::page_bytes() / sizeof(word); }
  static std::size_t groups_bytes() {
    return align_up(bits_bytes() / os_pages::page_bytes() / 8, os_pages::page_bytes());
  }

  // relaxed: the arrival of all threads at an epoch publishes the marks.
  static bool is_set(const word* words, std::uintptr_t bit) {
    return (words[bit / bits_of_word].load(std::memory_order_relaxed) >> bit % bits_of_word & 1) != 0;
  }
  static void set(word* words, std::uintptr_t bit) {
    words[bit / bits_of_word].fetch_or(std::uint64_t{1} << bit % bits_of_word, std::memory_order_relaxed);
  }

  void mark_page(std::uintptr_t page) {
    if (is_set(bits_, page)) return;
    set(bits_, page);
    set(groups_, page / bits_of_word / words_of_group());
  }

  template <class Visit>
  static void each_bit(const word* words, std::uintptr_t first, std::size_t count, Visit visit) {
    for (std::uintptr_t place = first; place < first + count; ++place)
      for (std::uint64_t left = words[place].load(std::memory_order_relaxed); left != 0; left &= left - 1)
        visit(place * bits_of_word + static_cast<unsigned>(std::countr_zero(left)));
  }

  word* bits_;
  word* groups_;
};

}  // namespace heaplab::replay
