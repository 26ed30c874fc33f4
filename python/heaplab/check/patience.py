"""Whether a test still gets anywhere, by the CPU time of its processes: other load makes no test hang."""

import time

from heaplab.machine.process_tree import cpu_of
from heaplab.machine.watch import descendants

PATIENCE_S = 10  # beyond its usual time, for which a test may hang
IDLE_S = 0.1  # CPU time within PATIENCE_S; a test that uses less waits for something that does not come


class Patience:
    """The patience with a test that has just begun as process `pid`."""

    def __init__(self, pid: int, usual_s: float) -> None:
        self._pid = pid
        self._limit_s = usual_s + PATIENCE_S
        self._begin = self._last_at = time.monotonic()
        self._last_cpu = 0.0

    def is_over(self) -> str:
        """Why the test counts as hanging; empty as long as it gets on."""
        now, cpu = time.monotonic(), sum(cpu_of(descendants(self._pid)).values())
        if abs(cpu - self._last_cpu) > IDLE_S:  # the time of a process that nobody waits for is lost
            self._last_at, self._last_cpu = now, cpu
        if now - self._last_at > PATIENCE_S:
            return f"uses no CPU time for {PATIENCE_S} s"
        # Several threads use up a limit sooner, a process on a busy machine later.
        if min(now - self._begin, cpu) > self._limit_s:
            return f"no end within {self._limit_s:.0f} s of CPU time"
        return ""
