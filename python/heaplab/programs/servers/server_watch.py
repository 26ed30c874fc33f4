"""Watches a server while other commands run: its memory, its limits, and whether it still runs."""

import os
import select
import time
from collections.abc import Callable

from heaplab.errors import HeaplabError
from heaplab.machine.process_tree import TreeMemory, memory_of
from heaplab.machine.watch import Limits, Look, MemoryCurve, descendants, no_look, over_limit

INTERVAL_S = 0.05  # between two samples
# Seconds of pause for each second that a sample takes: to sum shares of pages, the kernel walks the page
# tables of the server.
REST = 100
TICK_S = 0.05


class ServerEndedError(HeaplabError):
    """The server ended without being told to."""


class OverLimitError(HeaplabError):
    """The server exceeded a limit, which `limit` names: "time" or "memory"."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


class ServerWatch:
    """The memory of a server's processes over time. A context manager."""

    def __init__(
        self, pid: int, begin: float, limits: Limits, tick: Callable[[], None], look: Look = no_look
    ) -> None:
        self.curve = MemoryCurve()
        self.ending = os.pidfd_open(pid)
        self._pid = pid
        self._begin = begin
        self._limits = limits
        self._tick = tick
        self._look = look
        self._next_sample = begin
        self._seen: TreeMemory | None = None

    def tree(self) -> list[int]:
        return descendants(self._pid)

    def sample(self) -> TreeMemory:
        """Sample the memory now, as a point of the curve."""
        began = time.monotonic()
        tree = self.tree()
        self._look(began - self._begin, tree)
        seen = memory_of(tree)
        ended = time.monotonic()
        self.curve.add(began - self._begin, seen.resident, seen.page_tables)
        self._next_sample = ended + max(INTERVAL_S, REST * (ended - began))
        self._seen = seen
        return seen

    def forget(self) -> None:
        """Make `latest` wait for a new sample."""
        self._seen = None

    def latest(self) -> TreeMemory:
        """The last sample; takes one if there is none yet."""
        return self._seen or self.sample()

    def wait(self, seconds: float, other: int | None = None) -> bool:
        """Sample for `seconds`, or until the process behind the pidfd `other` ends: then True.

        Raises ServerEndedError and OverLimitError.
        """
        until = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            watched = [self.ending] if other is None else [self.ending, other]
            rest = max(0.0, min(until, self._next_sample, now + TICK_S) - now)
            ended = select.select(watched, [], [], rest)[0]
            if self.ending in ended:
                raise ServerEndedError
            if ended:
                return True
            now = time.monotonic()
            if limit := over_limit(self._limits, now - self._begin, self.curve.last):
                raise OverLimitError(limit)
            if now >= until:
                return False
            self._tick()
            if now >= self._next_sample:
                self.sample()

    def __enter__(self) -> "ServerWatch":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.ending)
