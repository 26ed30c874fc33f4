"""A subsystem's counts (src/trace/profile/subsystems.h) and its five dimensions (P0089, section 5)."""

from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import NamedTuple

from pydantic import BaseModel

from heaplab.subsystems.groups import Group
from heaplab.traces.profile import Profile

SIZES = log2(10)  # variation 1: ten powers of two, 8 to 4096, equally frequent, as in src/workloads/local
RECORDED_NS = 60  # that recording takes for an event, at least (docs/recording-cost.md)
LARGEST_CHUNK = 32 << 20  # B, of heaplab::local::monotonic_options


class Total(NamedTuple):
    blocks: int
    bytes: int


class Episode(NamedTuple):
    begin: int  # stamps
    end: int
    bytes: int
    most: int  # live at a time
    thread: int


class Stayed(NamedTuple):
    """Blocks of a call site that lived on when the next episode began."""

    site: int
    blocks: int
    bytes: int


class Subsystem(BaseModel, frozen=True):
    group: Group
    acquired: Total
    above_large: Total  # blocks above 4096 B
    released: int
    growths: int  # blocks that came of a reallocation
    remote: int  # blocks that another thread released
    turns: int  # times that a thread came to the subsystem from another one
    most_bytes: int
    threads: int
    episodes: int
    open_bytes: int  # of episodes that did not end
    ticks: int  # in episodes
    episode_bytes: int
    episode_most: int  # summed over episodes
    sizes: list[int]  # blocks by power of two
    totals: list[int]  # bytes by power of two of the bytes of their episode
    largest: list[Episode]
    stayed: list[Stayed]

    @property
    def calls(self) -> int:
        return self.acquired.blocks + self.released

    @property
    def mean_size(self) -> float:
        return self.acquired.bytes / max(self.acquired.blocks, 1)

    @property
    def blow_up(self) -> float:
        """Bytes of all blocks of an episode, for each byte that lived at a time."""
        return self.episode_bytes / max(self.episode_most, 1)

    @property
    def first_chunk(self) -> int:
        """Bytes for what an episode has live at a time, in one chunk."""
        return max(min(1 << round(self.typical_bytes / self.blow_up).bit_length(), LARGEST_CHUNK), 1024)

    @property
    def variation(self) -> float:
        whole = sum(self.sizes)
        shares = [blocks / whole for blocks in self.sizes if blocks]
        return min(sum(share * log2(1 / share) for share in shares) / SIZES, 1.0) if shares else 0.0

    @property
    def typical_bytes(self) -> int:
        """The power of two such that 19 of 20 bytes are in episodes of at most so many bytes."""
        seen = 0
        for power, in_bytes in enumerate(self.totals):
            seen += in_bytes
            if seen >= 0.95 * self.episode_bytes:
                return min(1 << power, LARGEST_CHUNK)
        return 1


class Dimension(NamedTuple):
    letter: str
    name: str
    value: float | None  # 0 to 1; None: not known
    unit: str  # what is divided by what, and what stands in for what is not counted


@dataclass(frozen=True)
class Appraised:
    """A subsystem in its program, with the mean time of a call of malloc or free there."""

    of: Subsystem
    profile: Profile
    call_s: float

    @property
    def allocation_s(self) -> float:
        """Time in calls of the subsystem."""
        return self.of.calls * self.call_s

    @cached_property
    def run_s(self) -> float | None:
        """CPU time of the program, without what recording took at least; None: not known.

        Where a recording has no CPU time, the time by the clock stands in.
        """
        recorded = self.profile.cpu_ns * 1e-9 or self.profile.seconds
        events = sum(self.profile.kinds.values())
        return max(recorded - events * RECORDED_NS * 1e-9, events * self.call_s) if recorded else None

    @property
    def share(self) -> float | None:
        """Of the program's time, spent in calls of the subsystem: no gain can be above."""
        return min(self.allocation_s / self.run_s, 1.0) if self.run_s else None

    @property
    def accesses_s(self) -> float | None:
        """At most the time of accesses to its blocks: all in its episodes but its calls; None: not known."""
        return self._busy_s - self.allocation_s if self._busy_s is not None else None

    @property
    def dimensions(self) -> list[Dimension]:
        of, busy = self.of, self._busy_s
        density = min(self.allocation_s / busy, 1.0) if busy else None
        near = busy * 1e9 / (of.most_bytes * max(of.turns, 1)) if busy and of.most_bytes else None
        concurrent = density if of.threads > 1 else 0.0
        calls = "time in its calls by time in its episodes; both stand in for instructions"
        return [
            Dimension("D", "density", density, calls),
            Dimension("V", "variation", of.variation, "entropy of sizes by that of ten powers of two"),
            Dimension(
                "L",
                "locality",
                None if near is None else near / (1 + near),
                "x/(1+x), x = I/(M T): ns stand in for instructions I, most live bytes M, turns from other "
                "call sites stand in for transitions T",
            ),
            Dimension(
                "U", "utilization", min(1 / self.of.blow_up, 1.0), "most live bytes by all bytes, by episode"
            ),
            Dimension(
                "C", "contention", concurrent, "D where several threads call, 0 where one does; not observed"
            ),
        ]

    @property
    def _busy_s(self) -> float | None:
        """CPU time in episodes, spread evenly over the clock's, without what recording took at least."""
        if not self.profile.timed:
            return None
        at_work = min(self.profile.cpu_ns * 1e-9 / self.profile.seconds, 1.0) if self.profile.cpu_ns else 1.0
        recorded = self.of.ticks / self.profile.ticks_per_second * at_work
        return max(recorded - self.of.calls * RECORDED_NS * 1e-9, self.allocation_s)
