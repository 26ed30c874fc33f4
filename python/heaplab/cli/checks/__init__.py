"""`heaplab doctor` and `heaplab check`: commands that look at a machine or a library."""
