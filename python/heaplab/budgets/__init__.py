"""What a program may allocate, by thread and call site, in a file that is checked in."""
