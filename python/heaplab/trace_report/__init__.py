"""What people read of a trace: one HTML page, and the same on the terminal."""
