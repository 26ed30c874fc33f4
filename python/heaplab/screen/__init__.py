"""What a command shows while it works, and its exit status."""
