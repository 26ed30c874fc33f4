"""Advice on the memory of a recorded program: what holds it under each allocator, what would give it back."""
