"""Twins of recordings: sizes, lifetimes, sharing, order of deaths; no addresses, names or data."""
