"""What `heaplab budget` does: the allocations that a program may make, by thread and call site, in a file."""
