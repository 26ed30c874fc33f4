// A library of which several are loaded one after the other. NAME is that of its function.
#include <stdlib.h>

void NAME(size_t size);

void NAME(size_t size) {
  free(malloc(size));
  __asm__ volatile("");
}
