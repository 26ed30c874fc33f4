"""`heaplab report`, `claims`, `power`, `export` and `atlas`: commands that read results files."""
