// Marks that tell a reader (and the compiler) which functions are hot and which are not.
#pragma once

// A function on the path of every malloc or free: inlined, and checked by the tests on generated code.
#define HEAPLAB_FAST_PATH [[gnu::always_inline]] inline
// A function that a fast path often falls back to: out of line, so that its registers do not burden the hot
// code, and compiled for speed.
#define HEAPLAB_OUT_OF_LINE [[gnu::noinline]]
// A function that a fast path seldom falls back to: compiled for size, and apart from other code.
#define HEAPLAB_SLOW_PATH [[gnu::noinline, gnu::cold]]
// An exported function of a shared library; all other functions are hidden.
#define HEAPLAB_EXPORT [[gnu::visibility("default")]]
