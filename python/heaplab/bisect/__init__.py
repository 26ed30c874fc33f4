"""What `heaplab bisect` does: the first commit that a gate calls worse."""
