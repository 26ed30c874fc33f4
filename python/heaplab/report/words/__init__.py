"""What the output says: units, names of strategies, verdicts in words, advice, causes, next steps."""
