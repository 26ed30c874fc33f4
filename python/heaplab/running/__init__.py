"""What `heaplab look` and `watch` tell of a process: its malloc, its memory, what malloc says; and `with`."""
