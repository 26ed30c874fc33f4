#!/usr/bin/env python3
"""Spans whose size follows feedback: moves of spans, and what a thread holds, by rules of scalloc's spans.

A model of one size class of blocks of 8 KiB: a thread allocates from its hot span, takes another when that is
full (one that became reusable first, else of the pool), and puts empty spans back. A span of few blocks moves
often; of a span of many a thread holds more than it needs, of each class and in each thread. Feedback begins
with the smallest span, takes twice the blocks when spans of the pool run full one after the other, and half
when one came back that was never half full.
Example: research/span_feedback.py
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from command_line import parser_of

LEAST, MOST = 2, 32  # blocks of a span of 8 KiB blocks: scalloc's, and the paper's
REUSABLE = 0.8  # part of a span's blocks that are free: from there on the thread allocates from it again
BLOCK_KIB = 8
Step = int | None  # the block to free, by its place among the live ones, or None: allocate
Feedback = Callable[[int, "Span"], int]


@dataclass(eq=False)
class Span:
    blocks: int
    used: int = 0
    touched: int = 0  # the most blocks in use so far: these have memory
    reusable: bool = False


@dataclass
class SizeClass:
    """Spans of one thread. `blocks` of a fresh span is fixed, or follows feedback."""

    blocks: int
    follows: bool = False
    hot: Span | None = None
    spans: set[Span] = field(default_factory=set)
    reusable: list[Span] = field(default_factory=list)
    live: list[Span] = field(default_factory=list)
    moves: int = 0
    operations: int = 0
    held: int = 0  # blocks with memory beyond those in use, summed over the operations
    full_in_a_row: int = 0

    def step(self, place: Step) -> None:
        self.operations += 1
        if place is None:
            self.live.append(self.allocate())
        else:
            self.live[place], self.live[-1] = self.live[-1], self.live[place]
            self.free(self.live.pop())
        self.held += sum(span.touched for span in self.spans) - len(self.live)

    def allocate(self) -> Span:
        if self.hot is None or self.hot.used == self.hot.blocks:
            self.hot = self.another()
        span = self.hot
        span.used += 1
        span.touched = max(span.touched, span.used)
        return span

    def another(self) -> Span:
        self.moves += 1
        if self.reusable:
            span = self.reusable.pop()
            span.reusable = False
            return span
        self.full_in_a_row += 1
        if self.follows and self.full_in_a_row > 1:
            self.blocks = min(2 * self.blocks, MOST)
        span = Span(self.blocks)
        self.spans.add(span)
        return span

    def free(self, span: Span) -> None:
        span.used -= 1
        if span is self.hot:
            return
        if span.used == 0:
            self.give_back(span)
        elif not span.reusable and span.blocks - span.used > REUSABLE * span.blocks:
            self.moves += 1
            span.reusable = True
            self.reusable.append(span)

    def give_back(self, span: Span) -> None:
        self.moves += 1
        self.spans.remove(span)
        if span.reusable:
            self.reusable.remove(span)
        self.full_in_a_row = 0
        if self.follows and 2 * span.touched < span.blocks:
            self.blocks = max(self.blocks // 2, LEAST)


def few(_draw: random.Random) -> Iterator[Step]:
    """Three blocks, again and again."""
    for _ in range(1000):
        yield from (None, None, None, 2, 1, 0)


def waves(_draw: random.Random) -> Iterator[Step]:
    """256 blocks, freed in the order of allocation."""
    for _ in range(20):
        yield from [None] * 256
        yield from [0] * 256


def steady(draw: random.Random) -> Iterator[Step]:
    """64 blocks in use, any of which is freed for the next."""
    yield from [None] * 64
    for _ in range(5000):
        yield draw.randrange(64)
        yield None


def after_a_wave(draw: random.Random) -> Iterator[Step]:
    """One wave, then three blocks."""
    yield from [None] * 256
    yield from (draw.randrange(256 - i) for i in range(256))
    yield from few(draw)


PROGRAMS = (few, waves, steady, after_a_wave)
POLICIES = {"2": (LEAST, False), "32": (MOST, False), "feedback": (LEAST, True)}


def measured(program: Callable[[random.Random], Iterator[Step]], policy: str) -> tuple[float, float]:
    """Moves of spans for an operation, and mean KiB held beyond what is in use."""
    blocks, follows = POLICIES[policy]
    of = SizeClass(blocks, follows)
    for step in program(random.Random(1)):
        of.step(step)
    return of.moves / of.operations, of.held / of.operations * BLOCK_KIB


def table() -> str:
    lines = [f"| | {' | '.join(POLICIES)} |", f"|---|{'--:|' * len(POLICIES)}"]
    for program in PROGRAMS:
        cells = [f"{moves:.3f}, {held:.0f}" for moves, held in (measured(program, name) for name in POLICIES)]
        lines.append(f"| {(program.__doc__ or '').rstrip('.')} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    print(table())
