"""Mallocs that a program brings along: which of its functions are redirected to the recorder, and how."""
