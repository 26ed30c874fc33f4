// A library of which several are loaded one after the other. NAME is that of its function, whose code differs
// by the size of its frame alone: ROOM.
#include <stdlib.h>

void NAME(size_t size);

void NAME(size_t size) {
  volatile char room[ROOM];
  room[0] = 1;
  room[1] = room[0];
  free(malloc(size));
  __asm__ volatile("");
}
