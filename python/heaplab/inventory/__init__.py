"""What the catalog and the machine hold: what `heaplab show`, `get` and `doctor` tell and obtain."""
