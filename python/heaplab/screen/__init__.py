"""What a command shows on the terminal: tables, notes, steps; and its exit status."""
