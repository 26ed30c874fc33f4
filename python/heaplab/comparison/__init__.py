"""What `compare`, `report` and `atlas --nightly` do: what is measured, as one request, and how it is told."""
