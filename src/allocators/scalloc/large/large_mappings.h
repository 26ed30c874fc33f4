// How large blocks get their pages from the system and give them back.
//
// A block of at least `least_huge` bytes begins at a multiple of a huge page. Such blocks do not touch each
// other, so that the kernel keeps a mapping for each; where a process has many large blocks, the next ones
// lie side by side instead, and the kernel makes one mapping of them.
//
// A block of at least `least_huge` bytes consists of huge pages, so that a page fault brings 512 pages, where
// the program fills its blocks of about that size (the same power of two): from the first that was filled
// throughout until up to seven others were not. Such a block was freed, outgrown by realloc, or the newest of
// its size when the next was asked for. Where a program leaves its blocks of a size sparse, they hold no more
// memory than it touches.
//
// Contents cannot tell a block of zeros from one that was never written. So one block in use of each size
// that is not trusted has marks (filled_blocks.h), which a program overwrites that fills the block with
// anything. They cost pages that the program may never touch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "allocators/scalloc/hardened/guard_pages.h"
#include "allocators/scalloc/large/filled_blocks.h"
#include "allocators/scalloc/policy/config.h"
#include "base/bits.h"
#include "base/os_pages.h"
#include "concurrent/unreturned_mappings.h"

namespace heaplab::scalloc {

template <class Traits>
class large_mappings {
  using platform = typename Traits::platform;
  static constexpr const scalloc::config& config = Traits::config;
  static constexpr std::size_t huge_page = os_pages::huge_page_bytes;
  // Smaller blocks would waste up to half in rounding to huge pages.
  static constexpr std::size_t least_huge = 4 * mib;

public:
  // Pages that are looked at to tell whether a block was filled. Each costs a system call, at every free of a
  // block of at least `least_huge` bytes.
  static constexpr std::size_t samples = 16;

  // Called before a second thread can call anything here.
  void allow_huge_pages() { may_be_huge_ = true; }

  // The size of a block of at least `bytes`: whole pages or, less a guard if the last one has room for it,
  // whole huge pages.
  std::size_t rounded(std::size_t bytes) const {
    const std::size_t unit = wants_huge(bytes) ? huge_page : os_pages::page_bytes();
    const std::size_t result = align_up(std::max(bytes, std::size_t{1}), unit);
    return unit == huge_page && result - bytes >= guard_bytes() ? result - guard_bytes() : result;
  }

  // Zeroed pages. A block that can hold huge pages begins at one even before huge pages are wanted, because
  // the kernel then moves whole page tables when the block is resized. `sparse`: the block may have a mapping
  // of the kernel's own. Null: no memory.
  char* map(std::size_t bytes, std::size_t alignment, bool sparse) {
    const std::size_t all = bytes + guard_bytes();
    Traits::purge_for_growth(bytes);
    void* block = unreturned_.try_take(all, alignment);
    if (block == nullptr && sparse && is_huge(bytes))
      block = platform::allocate(all, std::max(alignment, huge_page));
    if (block == nullptr) block = platform::allocate(all, alignment);
    note_newest(block, bytes);
    return guarded(with_huge_pages(block, bytes), bytes, sparse);
  }

  // `sparse` as for map(). Null: the system refuses, and nothing has changed.
  char* resize(char* block, std::size_t before, std::size_t bytes, bool sparse) {
    if (bytes > before) Traits::purge_for_growth(bytes - before);
    forget(block, before);
    if (!unguard(block, before)) return nullptr;
    const std::size_t all_before = before + guard_bytes(), all = bytes + guard_bytes();
    void* const resized = is_huge(bytes) && bytes > before
                              ? platform::remap_aligned(block, all_before, all, huge_page)
                              : platform::remap(block, all_before, all);
    if (resized == nullptr) return guarded(block, before, sparse), nullptr;
    // The pages that are added to a mapping are of its kind, which was chosen for a smaller block.
    const bool grows_as_huge = bytes > before && is_huge(bytes) && asked_.load(std::memory_order_relaxed);
    if (grows_as_huge && !wants_huge(bytes)) platform::advise_huge(resized, all, false);
    return guarded(with_huge_pages(resized, bytes), bytes, sparse);
  }

  // Precondition: the block is live or sealed.
  void release(void* block, std::size_t bytes) {
    forget(block, bytes);
    auto* const start = static_cast<char*>(block);
    unreturned_.release(start, bytes + guard_bytes(), [=] {
      if constexpr (!config.hardened) return true;
      return platform::make_accessible(start, bytes) && remove_guard<platform>(start + bytes, guard_bytes());
    });
  }

  // Prepares a freed block for being retained. In a hardened heap its pages become inaccessible, so that a
  // use after free ends the process. Returns false if the block cannot be retained: the system refuses, or
  // the block was not filled. The next user of a retained block has it wiped, which would touch every page
  // that the program never used.
  bool seal(char* block, std::size_t bytes, bool is_filled) {
    return !config.hardened || (is_filled && platform::make_inaccessible(block, bytes + guard_bytes()));
  }

  // Makes the first `bytes` of sealed pages a block again. False: the system refuses.
  bool unseal(char* block, std::size_t bytes, bool may_split) {
    if constexpr (!config.hardened) return true;
    if (has_mapped_guard(bytes, may_split)) return platform::make_accessible(block, bytes);
    if (!platform::make_accessible(block, bytes + guard_bytes())) return false;
    guarded(block, bytes, may_split);
    return true;
  }

  // Asks the system again to take what it has refused to take. True if the system took some.
  bool release_refused() { return unreturned_.release_all(); }

  // Learns from a block that the program is done with whether it fills its blocks of about this size. A block
  // of zeros alone may have been filled with zeros or not been written at all: marks tell.
  //
  // Returns whether the block was filled; hardened, for every block, else where anything is learnt.
  bool learn(const char* block, std::size_t bytes) {
    const bool chooses_pages = may_be_huge_ && is_huge(bytes);
    if (!chooses_pages && !config.hardened) return true;
    // For a size without trust only a filled block counts, and the first page that was never written decides:
    // looking at such a page costs a page fault and two system calls.
    const bool only_while_full = !config.hardened && !wants_huge(bytes);
    const page_sample seen = sample_pages<platform>(block, bytes, samples, only_while_full);
    // Hardened, the excess over the request holds zeros. Otherwise it holds what earlier blocks held there.
    const bool is_filled = config.hardened ? seen.is_filled() : seen.is_full();
    if (chooses_pages && seen.with_data > 0)
      trust(bytes, is_filled);
    else if (chooses_pages && marked_of(bytes).load(std::memory_order_relaxed) == block)
      trust(bytes, marks_are_gone<platform>(block, least_of(bytes)));
    if (chooses_pages) forget_in(marked_of(bytes), block);
    return is_filled;
  }

  // The same for a block that realloc makes larger: from each size only once, and before the block is
  // resized.
  void learn_from_growth(const char* block, std::size_t before, std::size_t bytes) {
    if (is_huge(before) && shift_of(before) < shift_of(bytes)) learn(block, before);
  }

  // Called before a block of at least `bytes` is allocated. Learns from the newest and from the marked block
  // of about this size, so that a program which keeps its blocks gets huge pages from the second on. Other
  // threads may be using these blocks, freeing them, or making them smaller.
  void learn_from_blocks_in_use(std::size_t bytes) {
    if (!may_be_huge_ || !is_huge(bytes) || wants_huge(bytes)) return;
    const auto* const newest = newest_of(bytes).load(std::memory_order_relaxed);
    const auto* const marked = marked_of(bytes).load(std::memory_order_acquire);
    const std::size_t least = least_of(bytes);
    if ((newest != nullptr && is_being_filled<platform>(newest, least, samples)) ||
        (marked != nullptr && marks_are_gone<platform>(marked, least)))
      trust(bytes, true);
  }

  // Called with a block in which the program may find anything.
  void mark(char* block, std::size_t bytes) {
    if (!may_be_huge_ || !is_huge(bytes) || wants_huge(bytes)) return;
    if (marked_of(bytes).load(std::memory_order_relaxed) != nullptr) return;
    write_marks(block, least_of(bytes));
    // release pairs with the acquire of learn_from_blocks_in_use: who looks for the marks finds them written.
    marked_of(bytes).store(block, std::memory_order_release);
  }

  // Hardened: a page behind each block that nobody may touch.
  static std::size_t guard_bytes() { return config.hardened ? os_pages::page_bytes() : 0; }

private:
  // A block of so many bytes was filled, or not.
  void trust(std::size_t bytes, bool was_filled) {
    const std::uint64_t seen = trust_.load(std::memory_order_relaxed);
    const std::uint64_t now = seen >> shift_of(bytes) & most_trust;
    const std::uint64_t next = was_filled ? std::min(now + 1, most_trust) : now - (now > 0 ? 1 : 0);
    // A concurrent change to another size may be lost; the next block of that size repeats it.
    trust_.store(seen + ((next - now) << shift_of(bytes)), std::memory_order_relaxed);
  }

  // Behind a block that can hold huge pages a mapping comes before a mark: the page table that a mark needs
  // would keep huge pages away when the block grows.
  static bool has_mapped_guard(std::size_t bytes, bool may_split) { return may_split && is_huge(bytes); }

  static char* guarded(char* block, std::size_t bytes, bool may_split) {
    if constexpr (config.hardened) {
      if (block == nullptr) return nullptr;
      if (!has_mapped_guard(bytes, may_split) || !platform::make_inaccessible(block + bytes, guard_bytes()))
        install_guard<platform>(block + bytes, guard_bytes(), may_split);
    }
    return block;
  }

  // The guard becomes zero: behind a block that was cut from a larger one, the guard holds what the larger
  // block held there. False: the system refuses, and nothing has changed.
  static bool unguard(char* block, std::size_t bytes) {
    if constexpr (config.hardened) {
      if (!remove_guard<platform>(block + bytes, guard_bytes())) return false;
      std::memset(block + bytes, 0, guard_bytes());
    }
    return true;
  }

  static constexpr unsigned trust_bits = 3;
  static constexpr std::uint64_t most_trust = (1U << trust_bits) - 1;

  static bool is_huge(std::size_t bytes) { return bytes >= least_huge; }

  bool wants_huge(std::size_t bytes) const {
    return is_huge(bytes) && (trust_.load(std::memory_order_relaxed) >> shift_of(bytes) & most_trust) > 0;
  }

  // One place for the sizes above one power of two up to the next, so that a rounded size has the same. The
  // largest sizes share the last place.
  static constexpr unsigned places = 64 / trust_bits;
  static unsigned place_of(std::size_t bytes) {
    const unsigned place = log2_floor(bytes - 1) - log2_floor(least_huge - 1);
    return std::min(place, places - 1);
  }
  // Where trust_ counts for a size.
  static unsigned shift_of(std::size_t bytes) { return trust_bits * place_of(bytes); }

  // No block of about this size has fewer bytes.
  static std::size_t least_of(std::size_t bytes) { return std::size_t{1} << log2_floor(bytes - 1); }

  using block_address = typename Traits::template atomic<const char*>;
  block_address& newest_of(std::size_t bytes) { return newest_[place_of(bytes)]; }
  block_address& marked_of(std::size_t bytes) { return marked_[place_of(bytes)]; }

  // A block of new pages, or null.
  void note_newest(const void* block, std::size_t bytes) {
    if (may_be_huge_ && is_huge(bytes))
      newest_of(bytes).store(static_cast<const char*>(block), std::memory_order_relaxed);
  }

  // The pages of a block are about to move or to go.
  void forget(const void* block, std::size_t bytes) {
    if (!is_huge(bytes)) return;
    forget_in(newest_of(bytes), block);
    forget_in(marked_of(bytes), block);
  }
  static void forget_in(block_address& noted, const void* block) {
    if (noted.load(std::memory_order_relaxed) == block) noted.store(nullptr, std::memory_order_relaxed);
  }

  // Brings the last huge page, which would come as small pages once a part of it is a guard.
  static void touch(volatile char* byte) { *byte = *byte; }

  char* with_huge_pages(void* block, std::size_t bytes) {
    if (block != nullptr && wants_huge(bytes)) {
      asked_.store(true, std::memory_order_relaxed);
      platform::advise_huge(block, bytes + guard_bytes(), true);
      if constexpr (config.hardened) touch(static_cast<char*>(block) + bytes - 1);
    }
    return static_cast<char*>(block);
  }

  concurrent::unreturned_mappings<typename Traits::sync, platform> unreturned_;
  bool may_be_huge_ = false;
  // For each size by how many, up to most_trust, filled blocks outnumbered the others of late. relaxed: a
  // hint for the next block, which publishes nothing.
  typename Traits::template atomic<std::uint64_t> trust_{0};
  // For each size the newest block that has its first pages still; the block may be retained. relaxed: a
  // hint, too; only the kernel reads what is there.
  block_address newest_[places] = {};
  // For each size the block in use that has marks, if any. Where threads mark two at once, the marks of one
  // are never looked at.
  block_address marked_[places] = {};
  // Whether any block ever asked for huge pages. relaxed: the mapping that a thread resizes came to the
  // thread under a lock, and so did all that was stored before.
  typename Traits::template atomic<bool> asked_{false};
};

}  // namespace heaplab::scalloc
