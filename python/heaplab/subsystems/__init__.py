"""Whether a local allocator would pay in a subsystem of a recorded program, and in which."""
