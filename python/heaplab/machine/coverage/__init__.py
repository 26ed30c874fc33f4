"""What share of a process's memory malloc explains, and what the rest is.

No allocator changes the rest: what a program maps by itself, the stacks of its threads, a malloc under names
of its own, and processes that no library can be preloaded into.
"""
