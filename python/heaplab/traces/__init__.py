"""Traces of a program's allocation calls (docs/trace-format.md): how they are recorded, what they hold."""
