"""`heaplab compare` and `heaplab run`."""
