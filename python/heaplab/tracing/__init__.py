"""What `heaplab record` and `heaplab trace` do: a program's calls in a file, and what the file holds."""
