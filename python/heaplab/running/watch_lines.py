"""`heaplab watch` without a terminal: a line each second."""

import time
from typing import Protocol, TextIO

from heaplab.running.watched import Glance
from heaplab.text import units

INTERVAL_S = 1.0


class Watchable(Protocol):
    def look(self) -> Glance | None:
        """None: what is watched has ended."""

    def wait(self, seconds: float) -> None: ...

    def write(self) -> str: ...


def show(source: Watchable, seconds: float, out: TextIO) -> None:
    """Until the time is over, or what is watched has ended."""
    ends = time.monotonic() + seconds
    while (began := time.monotonic()) < ends and (glance := source.look()):
        words = "  ".join(f"{label} {text}" for label, text in figures(glance))
        print(f"{time.strftime('%H:%M:%S')}  {glance.title}  {words}", file=out, flush=True)
        source.wait(max(0.0, min(ends, began + INTERVAL_S) - time.monotonic()))


def figures(glance: Glance) -> list[tuple[str, str]]:
    """Labels and texts of what is known."""
    values = [("resident", units.show(glance.resident, "B"))]
    if glance.live:
        values.append(("live", glance.live.text("B")))
    if glance.newer:
        values.append(("live, acquired since", glance.newer.text("B")))
    if glance.retained is not None:
        values.append(("retained", f"{units.show(glance.retained, 'B')} at least"))
    return [*values, ("outside malloc", units.show(glance.outside, "B"))]
