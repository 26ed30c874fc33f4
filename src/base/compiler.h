// Marks that tell a reader (and the compiler) which functions are hot and which are not.
#pragma once

// A function on the path of every malloc or free: inlined, and checked by the tests on generated code.
#define HEAPLAB_FAST_PATH [[gnu::always_inline]] inline
// A function that a fast path falls back to: out of line, so that its registers do not burden the hot code.
#define HEAPLAB_SLOW_PATH [[gnu::noinline, gnu::cold]]
// An exported function of a shared library; all other functions are hidden.
#define HEAPLAB_EXPORT [[gnu::visibility("default")]]
