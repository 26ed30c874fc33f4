"""Traces of a program's allocation calls (docs/trace-format.md): recording, profiles, exports."""

TRACE, SAMPLE, TWIN = ".trace", ".sample", ".twin"  # suffixes of recordings, and of what is fitted to them
