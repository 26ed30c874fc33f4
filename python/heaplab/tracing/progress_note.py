"""Notes on the progress of work on a trace that takes long."""

import sys
import time

from heaplab.screen.notes import note

SILENT_S = 2.0  # between two notes on the progress


class ProgressNote:
    """Notes on a terminal the progress of work on a trace that takes long."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._last = time.monotonic()

    def __call__(self, done: int, whole: int) -> None:
        now = time.monotonic()
        if sys.stderr.isatty() and now - self._last >= SILENT_S:
            self._last = now
            note(f"{self._what}: {100 * done // max(whole, 1)} %")
