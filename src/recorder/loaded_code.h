// The unwind information of the files that a process has loaded.
//
// The loader tells which file an address belongs to (_dl_find_object, glibc 2.35 and later: without a lock,
// since it is made for unwinders). The file's unwind information is copied when an address of the file is
// first met, by a system call that fails where another thread unloads the file meanwhile. Copies stay, so
// that no reader meets one that is gone.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "recorder/unwind_rows.h"

namespace heaplab::recorder {

// How often files were unloaded: what is known of code addresses is of this time. release/acquire: who sees a
// new number does not use what was found before.
inline constinit atomic<std::uint32_t> times_unloaded = 0;

// Whether unwind information can be had; else all rows are unknown. To be called once, before the others.
bool prepare_loaded_code();

// The row of an address in code. Makes system calls where none is known yet.
unwind_row row_at(std::uint64_t code);

}  // namespace heaplab::recorder
