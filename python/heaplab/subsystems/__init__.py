"""What `heaplab advise --local` does: whether a local allocator would pay in a subsystem of a program."""
