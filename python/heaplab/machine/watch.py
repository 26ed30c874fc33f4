"""Samples a running process tree: its memory against the limits, and mapped files."""

import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from heaplab.machine.huge_pages import HugePages

INTERVAL_S = 0.010  # between two samples of memory, after the first samples of a process
FIRST_INTERVAL_S = 0.001
CHILDREN_EVERY = 8  # samples between two searches for new processes of the tree
FEWEST_SAMPLES = 5  # a peak seen in fewer samples says nothing
# FIRST_INTERVAL_S apart, to see a short program often enough: about half find it being loaded.
FIRST_SAMPLES = 2 * FEWEST_SAMPLES
CURVE_POINTS = 200  # points of the memory curve that are kept
PAGE_KINDS = (b"RssAnon:", b"RssShmem:", b"VmPTE:")
Look = Callable[[float, Sequence[int]], None]  # gets s since the start, and the processes of the tree


def no_look(_at: float, _tree: Sequence[int]) -> None:
    """Look at nothing."""


@dataclass(frozen=True)
class Limits:
    time: float  # s
    memory: int | None = None  # B, resident memory of the whole tree
    cpus: frozenset[int] | None = None  # CPUs that the program may use; None: all
    huge_pages: HugePages | None = None  # transparent huge pages; None: as for heaplab itself
    members: Path | None = None  # the file of a control group's members; None: heaplab's own group


def kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


class MemoryCurve:
    """The memory of a process tree over time: (s since the start, resident B, page tables B)."""

    def __init__(self) -> None:
        self.points: list[tuple[float, int, int]] = []
        self.peak = 0

    def add(self, at: float, resident: int, tables: int) -> None:
        """Add the sample at `at` s, unless all processes had ended."""
        if resident:
            self.points.append((at, resident, tables))
            self.peak = max(self.peak, resident + tables)

    @property
    def last(self) -> int:
        """Resident B of the last sample; 0 before the first."""
        return sum(self.points[-1][1:]) if self.points else 0

    def mean(self) -> float:
        """Time-weighted mean of memory in B from the first sample to the last; 0 without samples."""
        if len(self.points) < 2:
            return float(self.peak)
        weighted = sum(
            (after[0] - before[0]) * (before[1] + before[2])
            for before, after in zip(self.points, self.points[1:], strict=False)
        )
        return weighted / (self.points[-1][0] - self.points[0][0])


class Watcher:
    """Samples the memory of a process tree.

    The first samples are to be taken FIRST_INTERVAL_S apart; then the time to the next one grows to
    `interval`. `tick` is called at every sample, and `look` with the processes of the tree.
    """

    def __init__(
        self,
        pid: int,
        limits: Limits,
        watch: Sequence[str] = (),
        interval: float = INTERVAL_S,
        tick: Callable[[], None] = lambda: None,
        look: Look = no_look,
    ) -> None:
        self.curve = MemoryCurve()
        self.mapped: set[str] = set()
        self.wait = FIRST_INTERVAL_S  # until the next sample
        self._pid = pid
        self._limits = limits
        self._interval = interval
        self._tick = tick
        self._look = look
        self._watch = {name.encode() for name in watch}
        self._tree = [pid]
        self._samples = 0
        self._looked_at: set[int] = set()

    @property
    def seen(self) -> int:
        return len(self._looked_at)

    def sample(self, at: float) -> str:
        """Sample when the program has run for `at` s; return the limit it exceeds: "time", "memory" or ""."""
        self._samples += 1
        if self._samples >= FIRST_SAMPLES:
            self.wait = min(self._interval, self.wait * 1.5)
        self._tick()
        if self._samples % CHILDREN_EVERY == 0:
            self._tree = descendants(self._pid)
        self.look(at)
        self._sample_memory(at)
        return over_limit(self._limits, at, self.curve.last)

    def look(self, at: float) -> None:
        """Look at the processes: also when they have just begun, and at what has ended and is still known."""
        self._look(at, self._tree)

    def _sample_memory(self, at: float) -> None:
        resident = tables = 0
        for pid in self._tree:
            anonymous, shared, table = page_kinds(pid)
            resident += anonymous + shared
            tables += table
            if self._watch and pid not in self._looked_at and anonymous:
                self._look_at_maps(pid)
        self.curve.add(at, resident, tables)

    def _look_at_maps(self, pid: int) -> None:
        try:
            content = Path(f"/proc/{pid}/maps").read_bytes()
        except OSError:
            return
        names = {name for name in self._watch if name in content}
        self.mapped |= {name.decode() for name in names}
        # A process without the C library is still being loaded. If a process ends while its maps are read,
        # the list is cut off: in a complete list, the stack is one of the last lines.
        if names or (b"libc." in content and b"[stack]" in content):
            self._looked_at.add(pid)


def over_limit(limits: Limits, seconds: float, memory: int) -> str:
    """The limit that is exceeded after `seconds` with `memory` B: "time", "memory" or ""."""
    if seconds > limits.time:
        return "time"
    return "memory" if limits.memory and memory > limits.memory else ""


def page_kinds(pid: int) -> tuple[int, int, int]:
    """Anonymous resident, shared resident and page-table bytes of a process; zeros if it has ended."""
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as stream:
            content = stream.read(4096)
    except OSError:
        return 0, 0, 0
    values = []
    for kind in PAGE_KINDS:
        at = content.find(kind)
        values.append(int(content[at + len(kind) : at + len(kind) + 12].split()[0]) * 1024 if at >= 0 else 0)
    return values[0], values[1], values[2]


def descendants(pid: int) -> list[int]:
    """The process and its descendants that are still running."""
    tree = [pid]
    for parent in tree:
        try:
            threads = os.listdir(f"/proc/{parent}/task")
            for thread in threads:
                with open(f"/proc/{parent}/task/{thread}/children", "rb", buffering=0) as stream:
                    tree += [int(child) for child in stream.read(65536).split()]
        except OSError:
            continue
    return tree


def thin_curve(curve: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    """At most CURVE_POINTS points of a curve: the largest point of each stretch, so that peaks survive."""
    if len(curve) <= CURVE_POINTS:
        return curve
    step = len(curve) / CURVE_POINTS
    stretches = (curve[int(i * step) : int((i + 1) * step)] for i in range(CURVE_POINTS))
    return [max(stretch, key=lambda point: point[1] + point[2]) for stretch in stretches]
