"""`heaplab report`, `claims`, `power` and `export`: commands that read results files."""
