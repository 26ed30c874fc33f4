"""`heaplab gate`."""
