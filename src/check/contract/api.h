// The functions under test, and functions that every test of them needs.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "check/blocks.h"
#include "check/served.h"

namespace contract {

using namespace heaplab::testing;

// The bytes that a program may use of a block of which it requested `asked`.
inline std::size_t usable_of(void* block, std::size_t asked) {
  static const bool tells = heaplab::check::is_present("malloc_usable_size");
  return tells ? malloc_usable_size(block) : asked;
}

// C23 7.24.3: the block is aligned for every type of fundamental alignment that is no larger than the block.
inline bool aligned_for_its_size(const void* address, std::size_t size) {
  return size == 0 || aligned(address, std::min(std::bit_floor(size), alignof(std::max_align_t)));
}

using free_sized_function = void(void*, std::size_t);

// The error number of a call that gives no block; 0 where it gives one.
template <class Call>
int error_of(Call call) {
  errno = 0;
  const block given(call());
  return given == nullptr ? errno : 0;
}

// Sizes around every border that an allocator's size classes are likely to have, up to 10 MB.
inline constexpr std::size_t sizes[] = {
    0,      1,      2,       7,       8,       9,       15,      16,      17,      24,      31,     32,
    33,     48,     63,      64,      65,      100,     127,     128,     129,     255,     256,    257,
    511,    512,    513,     1000,    1023,    1024,    1025,    2047,    2048,    2049,    4095,   4096,
    4097,   8191,   8192,    16384,   32767,   32768,   32769,   65536,   100000,  131071,  131072, 131073,
    262144, 524288, 1048575, 1048576, 1048577, 2097151, 2097152, 2097153, 4194304, 10000001};

// Sizes that must be refused: above PTRDIFF_MAX, up to sizes to which adding a header, an alignment or a page
// wraps around.
inline constexpr std::size_t too_large[] = {std::size_t{PTRDIFF_MAX} + 1,
                                            SIZE_MAX / 2 + 4096,
                                            SIZE_MAX - (std::size_t{1} << 21),
                                            SIZE_MAX - 8192,
                                            SIZE_MAX - 4095,
                                            SIZE_MAX - 64,
                                            SIZE_MAX - 16,
                                            SIZE_MAX - 15,
                                            SIZE_MAX - 8,
                                            SIZE_MAX - 7,
                                            SIZE_MAX - 1,
                                            SIZE_MAX};

}  // namespace contract
