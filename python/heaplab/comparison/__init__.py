"""What `compare` and `report` do: what is measured, as one request, and how it is carried out and told."""
