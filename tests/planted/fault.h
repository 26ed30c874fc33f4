// The faults that can be planted in the malloc of this folder, each a library of its own: planted_<fault>.
// None of them is in planted_none.
#pragma once

namespace planted {

enum class fault {
  none,

  // The contract.
  misaligned,           // at times a block 8 bytes off
  aligned_by_half,      // of an alignment of a page or more only the half
  empty_is_null,        // malloc(0)
  overlapping,          // at times a block that is still in use, of 1000 bytes and more
  forgetful,            // realloc keeps half of a block that moves
  unclean,              // calloc does not clear a block that was used before
  seldom_unclean,       // the same, in each 199th call of a thread for a page and more
  wraps_sizes,          // a size near SIZE_MAX wraps around to a small block
  wraps_products,       // calloc and reallocarray multiply unchecked
  keeps_errno_silent,   // a refusal without ENOMEM
  free_sets_errno,      // of a large block
  moving_sets_errno,    // realloc sets errno where it succeeds and moves the block
  moves_to_shrink,      // realloc to much less is refused where no smaller block is had
  frees_on_refusal,     // realloc gives the old block away though it was refused
  boasts,               // malloc_usable_size says 64 bytes too many
  takes_any_alignment,  // posix_memalign and aligned_alloc, also no power of two
  trims_what_is_live,   // a page of the latest block of three pages and more
  says_by_errno,        // posix_memalign sets errno too
  incomplete,           // lacks the aligned functions: the C library's answer

  // Threads, forks, life.
  unlocked,                   // the lists of free blocks, under threads
  begins_without_realloc,     // aborts where a thread's first call is realloc to 1 MiB and more
  leaks_per_thread,           // 64 KiB for each
  leaks_little_per_thread,    // 1 KiB for each
  loses_foreign,              // what another thread frees
  closes_with_thread,         // no memory for a thread in the last round of its destructors
  locked_in_child,            // fork leaves the lock as it was
  huge_locked_in_child,       // the same, for a lock of blocks of 2.5 MiB and more alone
  unlocked_beside_parent,     // in a child that shares the memory of its parent
  keeps_inherited,            // frees in fork's child no block of the parent
  resets_in_child,            // fork's child begins with an empty heap over the inherited blocks
  gives_up_when_interrupted,  // a signal that interrupts a wait makes it a refusal
  refuses_late,               // gives nothing where it is not the malloc of the program

  // Scarcity.
  aborts_without_memory,    // when the system refuses
  aborts_once,              // the same, for one of its mappings alone
  sulks,                    // once refused, gives nothing any more
  needs_proc,               // aborts without /proc/self/maps
  needs_sched_getaffinity,  // aborts where that is not permitted
  asks_at_its_start,        // calls sched_getaffinity once, when it begins

  // Memory.
  leaks_a_tenth,  // each tenth free does nothing
  hoards,         // gives no large block back, nor uses it again
  keeps_aligned,  // frees no block that its alignment has moved
  exact_fit,      // uses a block again only for the size it had
};

}  // namespace planted
