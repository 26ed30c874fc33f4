"""Traces of a program's allocation calls (docs/trace-format.md): recording, profiles, exports."""
