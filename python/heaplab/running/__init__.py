"""What `look`, `watch` and `record --pid` do with a process that runs, and tell of its memory; and `with`."""
