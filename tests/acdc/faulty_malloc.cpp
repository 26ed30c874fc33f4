// The C library's malloc with one fault, which strikes at blocks of one size that nothing but the objects of
// the test has: FAULT_TWICE gives a block out again while it is in use,
// FAULT_OVERLAP one that begins in the middle of the block before.
#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t);
void __libc_free(void*);
}

namespace {

constexpr std::size_t struck_size = 208;
constinit thread_local char* last = nullptr;
constinit thread_local unsigned calls = 0;
constinit thread_local char* false_block = nullptr;  // not the C library's

}  // namespace

extern "C" void* malloc(std::size_t bytes) {
  if (bytes != struck_size) return __libc_malloc(bytes);
#if defined(FAULT_TWICE)
  if (++calls % 50 == 0) return last;
#else
  if (++calls % 50 == 0) return false_block = last + 112;
#endif
  return last = static_cast<char*>(__libc_malloc(struck_size + 112));
}

extern "C" void free(void* block) {
  if (block != false_block) __libc_free(block);
}
