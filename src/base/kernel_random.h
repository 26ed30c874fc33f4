#pragma once

#include <sys/auxv.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace heaplab {

// 128 random bits that the kernel gave the process when the process began. No system call is made, so that
// no seccomp filter can refuse them. A child of fork has those of its parent. The C library makes its stack
// guard of the same bits: they serve as the key of a hash (keyed_hash.h) and are themselves shown to nobody.
inline std::array<std::uint64_t, 2> kernel_random() {
  std::array<std::uint64_t, 2> result{};
  // AT_RANDOM is the address of the bits. Emulators may lack it: then the bits are 0.
  if (const auto address = ::getauxval(AT_RANDOM); address != 0)
    std::memcpy(result.data(), reinterpret_cast<const void*>(address), sizeof result);
  return result;
}

}  // namespace heaplab
