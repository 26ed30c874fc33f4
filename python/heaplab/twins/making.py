"""Traces of lives that were drawn."""

from pathlib import Path
from typing import IO

from heaplab.traces import tool
from heaplab.twins.lives import Lives, events_of


def make_trace(lives: Lives, trace: Path) -> None:
    rows = events_of(lives)

    def feed(to: IO[bytes]) -> None:
        to.write(rows.tobytes())

    tool.make(feed, "twin", trace)
