"""Reports on a trace: one HTML page, and the same figures on the terminal."""
