"""What `heaplab look` and `watch` tell of a process: its malloc, where its memory lies, what malloc says."""
