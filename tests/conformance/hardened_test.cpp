// What scalloc-hardened promises (docs/hardening.md): which faults end the process, with which line, and what
// correct programs may still do.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "check/contract/api.h"

namespace conformance {

using namespace contract;

namespace {

// C23, later than the C library of Debian 12: of the library under test.
template <class Function>
Function* from_library(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}
auto* const free_sized = from_library<void(void*, std::size_t)>("free_sized");
auto* const free_aligned_sized = from_library<void(void*, std::size_t, std::size_t)>("free_aligned_sized");

// Blocks of the fine zone, of the coarse zone, and with mappings of their own.
constexpr std::size_t in_spans[] = {1, 8, 24, 40, 60, 100, 1000, 8000, 9000, 100'000, 200'000};
constexpr std::size_t large = 8 << 20;
// As many frees keep a block out of use at least, and twice as many at most (lab.h).
constexpr unsigned quarantine_blocks = 32;

using bytes = unsigned char;

bytes* make(std::size_t size) {
  return static_cast<bytes*>(std::malloc(size));
}

void free_now(void* block) {
  std::free(opaque(block));
}

void free_by_another(void* block) {
  std::thread(free_now, block).join();
}

// A child does it; its one line must say what is wrong and name the pointer.
#define EXPECT_FATAL(statement, what, pointer) \
  EXPECT_EXIT(statement, testing::KilledBySignal(SIGABRT), line_of(what, pointer))
#define EXPECT_GUARDED(statement) EXPECT_EXIT(statement, testing::KilledBySignal(SIGSEGV), "^$")

std::string line_of(const std::string& what, const void* pointer) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", pointer);
  return "^heaplab: " + what + "[^\n]*: " + text + "\n$";
}

// --- frees ---

TEST(hardened, finds_a_double_free_with_others_between) {
  for (const std::size_t size : in_spans)
    for (const unsigned others : {0U, 1U, quarantine_blocks - 1, quarantine_blocks, 2 * quarantine_blocks}) {
      std::vector<void*> between(others);
      for (void*& other : between) other = make(size);
      bytes* const block = make(size);
      const auto wrong = [&] {
        free_now(block);
        for (void* const other : between) free_now(other);
        free_now(block);
      };
      EXPECT_FATAL(wrong(), "not a live block", block) << size << " after " << others;
      for (void* const other : between) free_now(other);
      free_now(block);
    }
}

TEST(hardened, finds_a_double_free_by_another_thread) {
  for (const std::size_t size : in_spans) {
    bytes* const block = make(size);
    const auto wrong = [block] {
      std::thread([block] { free_now(block); }).join();
      free_now(block);
    };
    EXPECT_FATAL(wrong(), "not a live block", block) << size;
    const auto wrong_by_others = [block] {
      free_now(block);
      std::thread([block] { free_now(block); }).join();
    };
    EXPECT_FATAL(wrong_by_others(), "not a live block", block) << size;
    free_now(block);
  }
}

TEST(hardened, finds_a_free_inside_a_block) {
  for (const std::size_t size : in_spans) {
    bytes* const block = make(size);
    for (const std::size_t offset : {std::size_t{1}, std::size_t{8}, std::size_t{16}, size / 2})
      if (offset > 0 && offset < malloc_usable_size(block)) {
        EXPECT_FATAL(free_now(block + offset), "not a live block, an address inside a block", block + offset)
            << size;
        EXPECT_FATAL(opaque(std::realloc(opaque(block + offset), size)),
                     "not a live block, an address inside a block", block + offset);
      }
    free_now(block);
  }
}

TEST(hardened, finds_a_free_of_a_block_never_handed_out) {
  bytes* const block = make(100);
  const std::size_t stride = malloc_usable_size(block) + sizeof(std::uint64_t);
  const auto wrong = [&] {
    for (std::size_t index = 1;; ++index) free_now(block + index * stride);
  };
  EXPECT_EXIT(wrong(), testing::KilledBySignal(SIGABRT), "^heaplab: not a live block[^\n]*\n$");
  free_now(block);
}

TEST(hardened, finds_a_realloc_and_a_question_after_free) {
  for (const std::size_t size : in_spans) {
    bytes* const block = make(size);
    const auto resize = [&] { free_now(block), opaque(std::realloc(opaque(block), size)); };
    EXPECT_FATAL(resize(), "not a live block", block) << size;
    const auto ask = [&] { free_now(block), opaque(malloc_usable_size(opaque(block))); };
    EXPECT_FATAL(ask(), "not a live block", block) << size;
    free_now(block);
  }
}

// --- writes ---

TEST(hardened, finds_a_write_past_the_end_when_the_block_is_freed) {
  for (const std::size_t size : in_spans) {
    bytes* const block = make(size);
    const std::size_t end = malloc_usable_size(block);
    for (const std::size_t excess : {1U, 7U, 8U}) {
      const auto wrong = [&](auto freeing) {
        for (std::size_t byte = 0; byte < excess; ++byte) opaque(block)[end + byte] ^= 1;
        freeing(block);
      };
      EXPECT_FATAL(wrong(free_now), "written past the end of a block", block) << size << " by " << excess;
      EXPECT_FATAL(wrong(free_by_another), "written past the end of a block", block)
          << size << " by " << excess;
    }
    free_now(block);
  }
}

TEST(hardened, finds_a_write_before_the_beginning_when_the_block_is_freed) {
  for (const std::size_t size : in_spans) {
    // The last by address has another one before it.
    bytes* blocks[4];
    for (bytes*& block : blocks) block = make(size);
    bytes* const block = *std::max_element(std::begin(blocks), std::end(blocks));
    for (const std::size_t before : {1U, 8U, 16U}) {
      const auto wrong = [&](auto freeing) {
        for (std::size_t byte = 1; byte <= before; ++byte) *(opaque(block) - byte) ^= 1;
        freeing(block);
      };
      EXPECT_FATAL(wrong(free_now), "written before the beginning of a block", block) << size;
      EXPECT_FATAL(wrong(free_by_another), "written before the beginning of a block", block) << size;
    }
    for (bytes* const freed : blocks) free_now(freed);
  }
}

void write_into_freed(bytes* block, std::size_t offset) {
  free_now(block);
  opaque(block)[offset] = 1;
}

TEST(hardened, finds_a_write_after_free_when_the_block_leaves_quarantine) {
  for (const std::size_t size : {1U, 20U, 40U, 60U, 100U, 128U, 1000U, 8000U}) {
    bytes* const block = make(size);
    const std::size_t usable = malloc_usable_size(block);
    for (std::size_t offset = 0; offset < usable; offset += 1 + (usable - 1) / 8) {
      const auto wrong = [&] {
        write_into_freed(block, offset);
        for (unsigned step = 0; step < 2 * quarantine_blocks; ++step) free_now(make(48));
      };
      EXPECT_FATAL(wrong(), "a freed block was written to", block) << size << " at " << offset;
    }
    free_now(block);
  }
}

TEST(hardened, finds_a_write_after_free_by_a_thread_that_only_frees) {
  constexpr std::size_t size = 100;
  std::vector<bytes*> blocks(3 * quarantine_blocks);
  for (bytes*& block : blocks) block = make(size);
  const auto free_all = [&](bytes* written) {
    for (bytes* const block : blocks) {
      free_now(block);
      if (block == written) opaque(block)[20] = 1;
    }
  };
  bytes* const written = blocks[quarantine_blocks];
  const auto wrong = [&] { std::thread(free_all, written).join(); };
  EXPECT_FATAL(wrong(), "a freed block was written to", written);
  std::thread(free_all, nullptr).join();
}

TEST(hardened, finds_a_write_into_the_first_word_of_a_freed_block_when_the_thread_needs_blocks) {
  bytes* const block = make(100);
  const auto wrong = [&] {
    write_into_freed(block, 7);
    for (unsigned step = 0; step < 1000; ++step) opaque(make(48));
  };
  EXPECT_FATAL(wrong(), "a freed block was written to", block);
  free_now(block);
}

TEST(hardened, finds_a_link_that_was_written_to_when_the_block_would_be_used_again) {
  constexpr std::size_t size = 100;
  for (const std::size_t written : {4U, 8U, 16U}) {
    std::vector<bytes*> blocks(2 * quarantine_blocks);
    const auto wrong = [&] {
      for (bytes*& block : blocks) block = make(size);
      for (bytes* const block : blocks) free_now(block);
      for (bytes* const block : blocks) std::memset(opaque(block), 0x41, written);
      for (bytes*& block : blocks) block = make(size);
    };
    EXPECT_EXIT(wrong(), testing::KilledBySignal(SIGABRT), "^heaplab: a freed block was written to[^\n]*\n$")
        << written;
  }
}

TEST(hardened, large_blocks_are_followed_by_a_page_that_cannot_be_touched) {
  const auto touch_end_of = [](bytes* block) { opaque(block)[malloc_usable_size(block)] = 1; };
  bytes* block = make(large);
  EXPECT_GUARDED(touch_end_of(block));
  for (const std::size_t size : {large / 2, 5 * large, large + 1}) {
    block = static_cast<bytes*>(std::realloc(block, size));
    std::memset(block, 1, size);
    EXPECT_GUARDED(touch_end_of(block)) << size;
  }
  const auto use_after_free = [block] { free_now(block), opaque(block)[0] = 1; };
  EXPECT_GUARDED(use_after_free());
  free_now(block);
}

TEST(hardened, blocks_of_256_kib_and_more_stop_late_users) {
  for (const std::size_t size : {std::size_t{256} << 10, std::size_t{1} << 20}) {
    bytes* const block = make(size);
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      const auto write = [&] { free_now(block), opaque(block)[at] = 1; };
      const auto read = [&] { free_now(block), opaque(opaque(block)[at]); };
      EXPECT_GUARDED(write()) << size;
      EXPECT_GUARDED(read()) << size;
    }
    free_now(block);
  }
}

TEST(hardened, blocks_of_no_bytes_cannot_be_touched) {
  for (const auto making : {+[] { return std::malloc(opaque(std::size_t{0})); },
                            +[] { return std::calloc(opaque(std::size_t{0}), 1); }}) {
    std::vector<bytes*> blocks(5000);
    for (bytes*& block : blocks) block = static_cast<bytes*>(making());
    bytes* const block = blocks[0];
    EXPECT_EQ(malloc_usable_size(block), 0U);
    EXPECT_GUARDED(*opaque(block) = 1);
    EXPECT_GUARDED(opaque(*opaque(block)));
    const auto free_twice = [&] { free_now(block), free_now(block); };
    EXPECT_FATAL(free_twice(), "not a live block", block);
    EXPECT_FATAL(free_now(block + 1), "not a live block", block + 1);
    // Each of its own, however many there are.
    std::sort(blocks.begin(), blocks.end());
    EXPECT_EQ(std::adjacent_find(blocks.begin(), blocks.end()), blocks.end());
    for (bytes* const freed : blocks) free_now(freed);
  }
  free_sized(make(0), 0);
  auto* const grown = static_cast<bytes*>(std::realloc(make(0), 1000));
  std::memset(grown, 1, 1000);
  free_now(grown);
}

// The pages of a filled block are kept for the next one.
TEST(hardened, a_large_block_stops_late_users_and_its_pages_come_back_as_zeros_behind_a_guard) {
  constexpr std::size_t size = 3 << 20;
  for (const std::size_t next : {size, size / 2}) {
    malloc_trim(0);
    bytes* const block = make(size);
    std::memset(block, 0x41, size);
    free_now(block);
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1})
      EXPECT_GUARDED(opaque(block)[at] = 1) << at;
    bytes* const again = make(next);
    ASSERT_EQ(again, block) << next;
    const std::size_t usable = malloc_usable_size(again);
    EXPECT_TRUE(std::all_of(again, again + usable, [](bytes b) { return b == 0; })) << next;
    EXPECT_GUARDED(opaque(again)[usable] = 1) << next;
    free_now(again);
  }
}

// --- sizes that are told ---

template <class Freeing>
void expect_wrong_sizes(bytes* block, std::initializer_list<std::size_t> wrong, Freeing freeing) {
  for (const std::size_t told : wrong)
    EXPECT_FATAL(freeing(opaque(block), told), "freed with a wrong size", block) << told;
}

TEST(hardened, finds_a_wrong_size_told_to_delete) {
  const auto sized = [](bytes* block, std::size_t told) { ::operator delete(block, told); };
  const auto array = [](bytes* block, std::size_t told) { ::operator delete[](block, told); };
  for (const std::size_t size : {16UL, 1000UL, 100'000UL, large}) {
    auto* block = static_cast<bytes*>(::operator new(size));
    expect_wrong_sizes(block, {size / 2, 2 * size, SIZE_MAX}, sized);
    ::operator delete(block, size);
    block = static_cast<bytes*>(::operator new[](size));
    expect_wrong_sizes(block, {size / 2, 2 * size, SIZE_MAX}, array);
    ::operator delete[](block, size);
  }
}

TEST(hardened, finds_a_wrong_size_told_to_an_aligned_delete) {
  constexpr std::align_val_t align{256};
  const auto sized = [](bytes* block, std::size_t told) { ::operator delete(block, told, align); };
  const auto array = [](bytes* block, std::size_t told) { ::operator delete[](block, told, align); };
  auto* block = static_cast<bytes*>(::operator new(1000, align));
  expect_wrong_sizes(block, {10, 2000}, sized);
  ::operator delete(block, 1000, align);
  block = static_cast<bytes*>(::operator new[](1000, align));
  expect_wrong_sizes(block, {10, 2000}, array);
  ::operator delete[](block, 1000, align);
}

TEST(hardened, finds_a_wrong_size_told_to_free) {
  bytes* block = make(1000);
  expect_wrong_sizes(block, {10, 2000}, [](bytes* freed, std::size_t told) { free_sized(freed, told); });
  free_sized(block, 1000);
  block = static_cast<bytes*>(aligned_alloc(512, 1024));
  expect_wrong_sizes(block, {10, 3000},
                     [](bytes* freed, std::size_t told) { free_aligned_sized(freed, 512, told); });
  free_aligned_sized(block, 512, 1024);
}

TEST(hardened, takes_every_right_size) {
  for (std::size_t size = 0; size < 3 << 20; size += 1 + size / 16) {
    ::operator delete(opaque(::operator new(size)), size);
    ::operator delete[](opaque(::operator new[](size)), size);
    free_sized(opaque(std::malloc(size)), size);
    for (std::size_t alignment = 8; alignment <= 1 << 20; alignment *= 8) {
      const std::align_val_t align{alignment};
      ::operator delete(opaque(::operator new(size, align)), size, align);
      free_aligned_sized(opaque(aligned_alloc(alignment, size)), alignment, size);
    }
    // Up and down: realloc may leave a part of the block unused.
    for (const std::size_t resized : {size + size / 10 + 1, size / 2 + 1, 2 * size + 1, size / 3 + 1})
      free_sized(opaque(std::realloc(std::malloc(size + 1), resized)), resized);
  }
}

// --- what a program sees ---

TEST(hardened, freed_blocks_are_zero) {
  for (const auto freeing : {free_now, free_by_another})
    for (const std::size_t size : in_spans) {
      bytes* const block = make(size);
      const std::size_t usable = malloc_usable_size(block);
      std::memset(block, 0x41, usable);
      freeing(block);
      const bytes* const freed = opaque(block);
      // But for the link of a block that may be used again.
      EXPECT_TRUE(std::all_of(freed + std::min<std::size_t>(usable, 8), freed + usable, [](bytes b) {
        return b == 0;
      })) << size;
    }
}

// Whether many of its pages were written or few, with holes of any size; of memory never used before, and of
// other memory.
TEST(hardened, a_freed_block_of_pages_written_in_part_is_zero) {
  constexpr std::size_t page = 4096;
  for (const std::size_t size : {20'000UL, 32'760UL, 33'000UL, 60'000UL, 100'000UL, 250'000UL}) {
    malloc_trim(0);
    bytes* blocks[12];
    for (bytes*& block : blocks) block = make(size);
    unsigned next = 0;
    for (const std::size_t begin : {std::size_t{0}, size / 2 - page, size - page})
      for (const std::size_t distance : {1UL, page - 1, 3 * page, 40 * page}) {
        bytes* const block = blocks[next++];
        const std::size_t usable = malloc_usable_size(block);
        for (std::size_t at = begin; at < usable; at += distance) block[at] = 0x41;
        block[usable - 1] = 0x41;
        free_now(block);
        const bytes* const freed = opaque(block);
        ASSERT_TRUE(std::all_of(freed + 8, freed + usable, [](bytes b) { return b == 0; }))
            << size << " from " << begin << " each " << distance;
      }
  }
}

long page_faults() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_minflt;
}

// Calls run() in a thread, whose first spans hold no memory.
template <class Run>
void with_fresh_memory(Run run) {
  malloc_trim(0);
  std::thread(run).join();
}

TEST(hardened, to_free_a_block_does_not_touch_its_untouched_pages) {
  with_fresh_memory([] {
    bytes* const block = make(250'000);
    const long before = page_faults();
    free_now(block);
    EXPECT_LT(page_faults() - before, 30);
  });
}

// Zeros that were written are no reason to give pages back again and again.
TEST(hardened, the_pages_of_a_block_that_is_used_again_stay) {
  constexpr std::size_t size = 250'000;
  with_fresh_memory([] {
    void* const neighbour = make(size);
    long touched = 0;
    for (unsigned turn = 0; turn < 20; ++turn) {
      bytes* const block = make(size);
      const long before = page_faults();
      for (std::size_t at = 0; at < size; at += 1024) opaque(block)[at] = 0;
      touched += page_faults() - before;
      free_now(block);
    }
    free_now(neighbour);
    EXPECT_LT(touched, 3 * size / 4096);
  });
}

TEST(hardened, new_blocks_show_no_link) {
  for (const std::size_t size : {8UL, 24UL, 100UL, 1000UL, 9000UL, 100'000UL})
    for (unsigned turn = 0; turn < 3 * quarantine_blocks; ++turn) {
      bytes* const block = make(size);
      ASSERT_TRUE(std::all_of(block, block + sizeof(void*), [](bytes b) { return b == 0; })) << size;
      std::memset(block, 0x41, size);
      free_now(block);
    }
}

TEST(hardened, a_freed_block_stays_out_of_use_for_a_while) {
  constexpr std::size_t size = 72;
  bytes* const block = make(size);
  free_now(block);
  for (unsigned turn = 0; turn < quarantine_blocks; ++turn) {
    bytes* const other = make(size);
    EXPECT_NE(other, block) << "after " << turn << " frees";
    free_now(other);
  }
  bool is_used_again = false;
  for (unsigned turn = 0; turn < 3 * quarantine_blocks; ++turn) {
    bytes* const other = make(size);
    is_used_again |= other == block;
    free_now(other);
  }
  EXPECT_TRUE(is_used_again);
}

// Distances between the blocks that a thread gets first.
std::vector<std::ptrdiff_t> first_distances() {
  std::vector<std::ptrdiff_t> result;
  std::thread([&result] {
    result.reserve(50);
    bytes* before = make(200);
    std::vector<bytes*> all{before};
    for (unsigned step = 0; step < 50; ++step) {
      all.push_back(make(200));
      result.push_back(all.back() - all[all.size() - 2]);
    }
    for (bytes* const block : all) free_now(block);
  }).join();
  return result;
}

TEST(hardened, fresh_blocks_come_in_random_order) {
  const auto first = first_distances(), second = first_distances();
  EXPECT_NE(first, second);
  const auto in_order = [](std::ptrdiff_t distance) { return distance == 208; };
  EXPECT_LT(std::count_if(first.begin(), first.end(), in_order), 10);
}

}  // namespace
}  // namespace conformance
