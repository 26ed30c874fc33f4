// Marks that tell a reader (and the compiler) which functions are hot and which are not.
#pragma once

// On the path of every malloc or free: inlined, and watched by the tests on generated code.
#define HEAPLAB_FAST_PATH [[gnu::always_inline]] inline
// Everything a fast path leaves to: out of line, so that its registers do not burden the hot code.
#define HEAPLAB_SLOW_PATH [[gnu::noinline, gnu::cold]]
// What a shared library offers to the world; all else is hidden.
#define HEAPLAB_EXPORT [[gnu::visibility("default")]]
