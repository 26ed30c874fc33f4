"""Advice on what runs under one allocator: which candidate to choose in which situation."""
