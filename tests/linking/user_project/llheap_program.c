// A user of what llheap offers beyond malloc: the package must bring the header.
#include <heaplab/llheap.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  void* block = cmemalign(256, 10, 10);
  if (malloc_alignment(block) != 256 || malloc_request_size(block) != 100) return 1;
  free(block);
  malloc_info(0, stdout);
  return 0;
}
