"""The blocks of a recording from birth to death, on a clock of bytes that the process has allocated."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heaplab.traces import tool
from heaplab.traces.columns import BLOCK, EVENT
from heaplab.traces.profile import KINDS

Array = Any  # of numpy
CALLOC, MALLOC, FREE = (
    next(number for number, name in KINDS.items() if name == wanted)
    for wanted in ("calloc", "malloc", "free")
)
# Blocks released when no more than this share of all bytes was left to allocate are released by the end of
# the program, not by the end of their use: how long they would have lived is not known.
END_SHARE = 0.001
GATHERED = 8  # blocks from which on a burst is a mass
AT_ONCE = 1 << 16  # rows


@dataclass(frozen=True)
class Lives:
    """Arrays over blocks, in the order of their births."""

    size: Array  # B
    born: Array  # the clock before the birth
    died: Array  # the clock at the release, `clock` where nobody released the block
    rank: Array  # of the release among all releases
    is_freed: Array
    thread: Array
    freed_by: Array  # 0 where nobody released the block
    is_zeroed: Array  # by calloc
    seconds: Array  # since the first birth
    clock: int  # at the end

    def __len__(self) -> int:
        return len(self.size)

    @property
    def life(self) -> Array:
        """The bytes allocated between birth and death, or the end."""
        return np.maximum(self.died - self.born - ticks_of(self.size), 0)

    @property
    def has_died(self) -> Array:
        """False for a censored block: it lived to the end, and the program or the system freed it then."""
        return self.is_freed & (self.died < self.clock * (1 - END_SHARE))

    @property
    def is_remote(self) -> Array:
        return self.is_freed & (self.freed_by != self.thread)

    def at(self, clocks: Array) -> Array:
        """The live bytes at these times."""
        order = np.argsort(self.died, kind="stable")
        gained = np.concatenate(([0], np.cumsum(self.size)))
        lost = np.concatenate(([0], np.cumsum(self.size[order])))
        births = np.searchsorted(self.born, clocks, side="left")
        deaths = np.searchsorted(self.died[order], clocks, side="left")
        return gained[births] - lost[deaths]

    def between(self, begin: int, end: int) -> "Lives":
        """The blocks born in a part of the recording, as a recording of that part shows them."""
        kept = (self.born >= begin) & (self.born < end)
        lives = self.is_freed & (self.died < end)
        return Lives(
            size=self.size[kept],
            born=self.born[kept] - begin,
            died=np.where(lives, self.died, end)[kept] - begin,
            rank=self.rank[kept],
            is_freed=lives[kept],
            thread=self.thread[kept],
            freed_by=np.where(lives, self.freed_by, 0)[kept],
            is_zeroed=self.is_zeroed[kept],
            seconds=self.seconds[kept],
            clock=end - begin,
        )

    def halves(self) -> tuple["Lives", "Lives"]:
        """Cut before a birth, where half of the bytes are allocated. Precondition: there are blocks."""
        begun = self.born[min(np.searchsorted(self.born, self.clock // 2), len(self) - 1)]
        return self.between(0, int(begun)), self.between(int(begun), self.clock)


def ticks_of(size: Array) -> Array:
    """What the birth of a block adds to the clock: one at least, so that no two births are at one time."""
    return np.maximum(size, 1)


def lives_of(trace: Path, process: int, ticks_per_second: int) -> Lives:
    """The blocks of a process of a trace. Memory: some 250 bytes a block while they are read."""
    with tool.rows(trace, "blocks") as stream:
        rows = np.concatenate([chunk[chunk["process"] == process] for chunk in chunks(stream)])
    rows = rows[np.argsort(rows["acquired"], kind="stable")]
    size = rows["size"].astype(np.int64)
    ends = np.cumsum(ticks_of(size))
    is_freed = rows["releasing_kind"] != 0
    births_before = np.searchsorted(rows["acquired"], rows["released"], side="left")
    clock = int(ends[-1]) if len(ends) else 0
    born = ends - ticks_of(size)
    died = np.where(is_freed, np.concatenate(([0], ends))[births_before], clock)
    began = rows["acquired"] - (rows["acquired"][0] if len(rows) else 0)
    return Lives(
        size=size,
        born=born,
        died=np.maximum(died, born),
        rank=ranks(rows["released"]),
        is_freed=is_freed,
        thread=np.maximum(rows["thread"], 1).astype(np.int64),  # 0: lived before the recording began
        freed_by=rows["releasing_thread"].astype(np.int64),
        is_zeroed=rows["kind"] == CALLOC,
        seconds=began / (ticks_per_second or 1e9),
        clock=clock,
    )


def chunks(stream: Any) -> Iterator[Array]:
    yield np.empty(0, dtype=BLOCK)
    while data := stream.read(AT_ONCE * BLOCK.itemsize):
        yield np.frombuffer(data, dtype=BLOCK)


def ranks(values: Array) -> Array:
    places = np.empty(len(values), dtype=np.int64)
    places[np.argsort(values, kind="stable")] = np.arange(len(values))
    return places


def bursts(lives: Lives) -> Array:
    """For each block the number of its burst, -1 where the block did not die.

    A burst is what one thread releases without allocating in between.
    """
    numbers = np.full(len(lives), -1, dtype=np.int64)
    dead = np.flatnonzero(lives.has_died)
    dead = dead[np.lexsort((lives.rank[dead], lives.freed_by[dead]))]
    by, own = lives.freed_by[dead], np.empty(len(dead), dtype=np.int64)
    for thread in np.unique(by):
        births = lives.born[lives.thread == thread]
        own[by == thread] = np.searchsorted(births, lives.died[dead[by == thread]], side="left")
    begins = np.ones(len(dead), dtype=bool)
    begins[1:] = (by[1:] != by[:-1]) | (own[1:] != own[:-1])
    numbers[dead] = np.cumsum(begins) - 1
    return numbers


def burst_sizes(burst: Array) -> Array:
    """For each block how many die in its burst; 0 where the block did not die."""
    return np.bincount(burst[burst >= 0], minlength=1)[burst] * (burst >= 0)


def in_order(lives: Lives, groups: Array) -> tuple[Array, Array]:
    """Of each group of blocks, numbered from 0: how many there are, and how they die.

    1: in the order of their births; -1: in the opposite order; 0: at random. A group of one is in order.
    """
    members = np.flatnonzero(groups >= 0)
    if not len(members):
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    members = members[np.lexsort((lives.rank[members], groups[members]))]
    of = groups[members]
    count = np.bincount(of)
    same = of[1:] == of[:-1]
    signs = np.sign(np.diff(members)) * same
    steps = np.bincount(of[1:], weights=signs, minlength=len(count))
    return count, np.where(count > 1, steps / np.maximum(count - 1, 1), 1.0)


def events_of(lives: Lives) -> Array:
    """The events of these blocks in their order, as rows of `trace_tool`. Threads are numbered anew.

    Blocks have addresses of their own, none of which is used twice.
    """
    freed = np.flatnonzero(lives.is_freed)
    block = np.concatenate((np.arange(len(lives)), freed))
    clock = np.concatenate((lives.born, lives.died[freed]))
    is_birth = np.arange(len(block)) < len(lives)
    within = np.concatenate((np.arange(len(lives)), lives.rank[freed]))
    # At one time, deaths come before births.
    order = np.lexsort((within, is_birth, clock))
    block, clock, is_birth = block[order], clock[order], is_birth[order]
    room = (lives.size + 31) // 16 * 16
    rows = np.zeros(len(block), dtype=EVENT)
    rows["number"] = np.arange(len(block))
    rows["stamp"] = stamps_of(lives, clock)
    rows["address"] = ((1 << 32) + np.cumsum(room) - room)[block]
    rows["size"] = np.where(is_birth, lives.size[block], 0)
    rows["thread"] = by_first_event(np.where(is_birth, lives.thread[block], lives.freed_by[block]))
    rows["kind"] = np.where(is_birth, np.where(lives.is_zeroed[block], CALLOC, MALLOC), FREE)
    return rows


def stamps_of(lives: Lives, clock: Array) -> Array:
    """Nanoseconds; they ascend with the clock."""
    seconds = np.maximum.accumulate(lives.seconds) if len(lives) else np.zeros(1)
    at = lives.born if len(lives) else np.zeros(1)
    return (np.interp(clock, at, seconds - seconds[0]) * 1e9).astype(np.uint64)


def by_first_event(threads: Array) -> Array:
    _, first, inverse = np.unique(threads, return_index=True, return_inverse=True)
    return (ranks(first) + 1)[inverse]
