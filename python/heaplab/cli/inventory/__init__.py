"""`heaplab list`, `show`, `get`, `path` and `with`: commands about what the catalog holds."""
