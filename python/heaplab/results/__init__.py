"""What a results file holds: its records, the descriptions in them, and how they are read and written."""
