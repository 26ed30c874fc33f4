"""What holds the memory of a replay at some moments (docs/workload-format.md)."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple

SAMPLE = "sample"
PARTS = ("live", "rounding", "pinned", "retained", "own")


class Holding(NamedTuple):
    """The memory that the blocks of one call site hold, in bytes."""

    site: int
    blocks: int
    bytes: int
    pages: int  # of resident pages with at least one block of the site
    pinned: int  # the site's share of the bytes that blocks keep from the system
    together: int  # pinned bytes of pages that hold only blocks of this and of earlier holdings
    ages_us: int  # sum over the blocks
    oldest_us: int


@dataclass(frozen=True)
class Census:
    """One moment of one replay, in bytes."""

    why: str  # SAMPLE, trough, peak, end
    time_us: int
    live_bytes: int  # as recorded, like the blocks
    live_blocks: int
    memory: int
    live: int
    rounding: int
    pinned: int
    retained: int
    own: int
    holdings: tuple[Holding, ...]  # the most pinned bytes first
    cells: tuple[tuple[int, int, int], ...] = ()  # pages by address: used, pinned and retained bytes


def read(text: str) -> list[Census]:
    """The censuses in a file, one a line."""
    censuses = []
    for line in text.splitlines():
        row = json.loads(line)
        holdings = tuple(Holding(*holding) for holding in row.pop("sites"))
        cells = tuple((used, pinned, retained) for used, pinned, retained in row.pop("map"))
        censuses.append(Census(**row, holdings=holdings, cells=cells))
    return censuses


def mean_memory(run: Sequence[Census]) -> float:
    """The mean over time: each census counts until the next; without times, all count alike."""
    spans = [later.time_us - earlier.time_us for earlier, later in pairwise(run)]
    if not sum(spans):
        return fmean(census.memory for census in run)
    return fmean([census.memory for census in run[:-1]], weights=spans)


@dataclass(frozen=True)
class Replays:
    """Replays of one recording under one allocator."""

    name: str
    runs: tuple[tuple[Census, ...], ...]  # all have censuses of the same moments
    hurried: bool = False  # the allocator purges by time, and had less of it than in the program

    def memory(self, moment: int) -> tuple[int, int, int]:
        """The least, the median and the most memory of the runs at a moment."""
        in_each_run = [run[moment].memory for run in self.runs]
        return min(in_each_run), int(median(in_each_run)), max(in_each_run)

    def less(self, other: "Replays", moment: int) -> tuple[int, int, int]:
        """How many bytes less the replays `other` hold at a moment: at least, by the medians, at most."""
        low, middle, high = self.memory(moment)
        least, medium, most = other.memory(moment)
        return low - most, middle - medium, high - least

    def typical(self, moment: int) -> Census:
        """The census of the moment whose memory is the median."""
        ordered = sorted((run[moment] for run in self.runs), key=lambda census: census.memory)
        return ordered[(len(ordered) - 1) // 2]

    @property
    def peak(self) -> int:
        return max(self.memory(moment)[1] for moment in range(len(self.runs[0])))


def parts(census: Census) -> Iterable[tuple[str, int]]:
    return ((name, getattr(census, name)) for name in PARTS)
