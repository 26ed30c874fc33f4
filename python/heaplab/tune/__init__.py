"""What `heaplab tune` does: settings of an allocator, tried and confirmed on a program."""
