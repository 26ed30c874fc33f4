"""What the catalog and the machine hold: what `heaplab show`, `get`, `path` and `doctor` tell and obtain."""
