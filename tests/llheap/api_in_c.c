/* The extended interface as a C program sees it. Returns the line of the first surprise, or 0. */
#include <heaplab/llheap.h>
#include <stdint.h>
#include <stdlib.h>

int use_llheap_from_c(void) {
  int* numbers = aalloc(10, sizeof(int));
  if (numbers == NULL || malloc_request_size(numbers) != 10 * sizeof(int)) return __LINE__;
  numbers = resizearray(numbers, 100, sizeof(int));
  if (numbers == NULL) return __LINE__;
  free(numbers);
  void* aligned = cmemalign(1024, 3, 100);
  if ((uintptr_t)aligned % 1024 != 0 || malloc_alignment(aligned) != 1024 || !malloc_zero_fill(aligned))
    return __LINE__;
  if (posix_reallocarray(&aligned, 3, 1000) != 0 || malloc_alignment(aligned) != 1024) return __LINE__;
  free(aligned);
  return 0;
}
