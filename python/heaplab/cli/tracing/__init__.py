"""`heaplab record` and `heaplab trace`."""
