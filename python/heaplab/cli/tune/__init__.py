"""`heaplab tune`."""
