"""The summary of results, of a gate and of a tuning on a terminal."""
