"""What `heaplab advise` does: what holds the memory of a recorded program, what would give it back."""
