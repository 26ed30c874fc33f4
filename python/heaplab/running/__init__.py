"""A process that runs already: which malloc serves it, where its memory lies, what its allocator says."""
