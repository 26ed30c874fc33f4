"""What holds a recorded program's memory, under each allocator, and what would give it back."""
