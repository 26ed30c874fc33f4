"""`heaplab plan`, `run-shard` and `merge`: one experiment on many machines."""
