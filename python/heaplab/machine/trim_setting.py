"""What carries out `trim=60s`: a library beside the malloc (src/trim), and the variables that it reads."""

LIBRARY = "trim"
TRIM = "HEAPLAB_TRIM"  # s between two calls
COSTS = "HEAPLAB_TRIM_COSTS"  # the file to which the thread appends what each call cost
