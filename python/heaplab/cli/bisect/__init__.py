"""`heaplab bisect`."""
