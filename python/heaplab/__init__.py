"""heaplab: a laboratory for dynamic memory on Linux."""
