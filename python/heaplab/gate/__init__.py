"""What `heaplab gate` does: whether something is worse than its limit allows."""
