"""What `heaplab compare` does: what is measured, as one request, and how it is carried out and told."""
