"""Answers to the question what holds the memory, with figures and certainty: several may be true at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from heaplab.advise.census import Census, Replays
from heaplab.advise.growth import SiteGrowth, growths_of
from heaplab.advise.moments import Moment, moment_of
from heaplab.advise.other_ways import OtherWay
from heaplab.advise.what_if import WhatIf
from heaplab.results.records import Coverage
from heaplab.traces.profile import Profile

SMALLEST = 1 << 20  # B: fewer are not worth a change
SHARE = 0.1  # of the peak: less is not worth a change
AS_GOOD = 0.5  # share of the best allocator's gain from which on sites apart come before allocators


class Kind(StrEnum):
    """What holds the memory."""

    LIVE = "live data"
    LEAK = "a leak"
    GROWING = "growing"
    RETAINED = "retained"
    PINNED = "pinned"
    REGROWN = "taken again"
    BEYOND = "outside malloc"
    NOTHING = "nothing to gain"


BESIDE_BLOCKS = (Kind.RETAINED, Kind.PINNED, Kind.REGROWN, Kind.NOTHING)  # about memory that no block uses


@dataclass(frozen=True)
class Evidence:
    """The recording and the replays that an answer rests on."""

    profile: Profile
    replays: list[Replays]  # the first is the baseline
    what_if: WhatIf | None = None
    other_ways: Sequence[OtherWay] = ()
    complete: bool = True  # nothing that was to be measured is missing
    coverage: Coverage | None = None  # at the moment of the advice; None: the memory was not sampled

    @property
    def base(self) -> Replays:
        return self.replays[0]

    @property
    def hurried(self) -> list[str]:
        """The allocators that had no time to purge, so that they may hold less in the program."""
        return [replay.name for replay in self.replays if replay.hurried]

    @property
    def moment(self) -> Moment:
        return moment_of(self.profile, self.base)

    @property
    def census(self) -> Census:
        """The census of the baseline at the moment of the advice."""
        return self.base.typical(self.moment.place)

    @property
    def worth(self) -> float:
        """Bytes that are worth a change."""
        return max(SMALLEST, SHARE * self.base.peak)

    @property
    def apart_gain(self) -> tuple[int, int, int]:
        """Bytes that the sites apart give back under the baseline."""
        return self.what_if.less(0, self.base, self.moment.place) if self.what_if else (0, 0, 0)

    @property
    def trimmed_apart(self) -> int:
        """Bytes that the sites apart give back with malloc_trim; 0 if the baseline does not have it."""
        bytes_held = (
            self.what_if.less(number, answer, self.moment.place)[1]
            for number, answer in enumerate(self.replays)
            if self.what_if and answer.name.startswith(f"{self.base.name} + ")
        )
        return next(bytes_held, 0)

    @property
    def unpinned(self) -> int:
        """Bytes that no block pins any more with the sites apart; the allocator may still retain them."""
        return self.what_if.unpinned(0, self.base, self.moment.place) if self.what_if else 0

    def gain(self, other: Replays) -> tuple[int, int, int]:
        """Bytes less under another treatment than under the baseline: the least, of medians, the most."""
        return self.base.less(other, self.moment.place)

    @property
    def best(self) -> Replays:
        """The treatment with the least memory at the moment."""
        return min(self.replays, key=lambda replay: replay.memory(self.moment.place)[1])


@dataclass(frozen=True)
class HolderAnswer:
    """One thing that holds memory; `gain` is the number of bytes less: the least, of medians, the most."""

    kind: Kind
    sure: bool  # all replays agree; of a growth: it is steady
    bytes: int = 0  # that it holds, by which answers are in order
    gain: tuple[int, int, int] = (0, 0, 0)
    growths: tuple[SiteGrowth, ...] = ()


def answers_of(evidence: Evidence) -> list[HolderAnswer]:
    """All that holds memory, the most bytes first; that nothing is to gain, if there is none.

    Where malloc explains less than half of the memory, nothing about malloc's part is sure; where the
    baseline had no time to purge, nothing about the memory that no block uses.
    """
    answers = growing_answers(evidence.profile)
    if evidence.replays:
        answers += [*live_data(evidence, answers), *beside_blocks(evidence)]
    if evidence.replays and evidence.base.hurried:
        answers = [
            replace(answer, sure=answer.sure and answer.kind not in BESIDE_BLOCKS) for answer in answers
        ]
    covered = evidence.coverage
    if covered and covered.is_most_beyond:
        answers = [replace(answer, sure=False) for answer in answers]
    if covered and covered.matters:
        answers.append(HolderAnswer(Kind.BEYOND, sure=True, bytes=covered.beyond))
    return sorted(answers, key=lambda answer: -answer.bytes) or [nothing(evidence)]


def growing_answers(profile: Profile) -> list[HolderAnswer]:
    """Leaks, and data that grows: known before any replay."""
    all_growths = growths_of(profile)
    kinds = {
        Kind.LEAK: tuple(answer for answer in all_growths if answer.leaks),
        Kind.GROWING: tuple(answer for answer in all_growths if not answer.leaks),
    }
    return [growing(kind, growths) for kind, growths in kinds.items() if growths]


def growing(kind: Kind, growths: tuple[SiteGrowth, ...]) -> HolderAnswer:
    in_bytes = sum(growth.bytes for growth in growths)
    sure = 2 * sum(growth.bytes for growth in growths if growth.sure) >= in_bytes
    return HolderAnswer(kind, sure, in_bytes, growths=growths)


def live_data(evidence: Evidence, growing: Sequence[HolderAnswer]) -> Iterator[HolderAnswer]:
    """The blocks in use that do not belong to a growth."""
    rest = evidence.census.live - sum(answer.bytes for answer in growing)
    if rest >= evidence.worth:
        yield HolderAnswer(Kind.LIVE, sure=True, bytes=rest)


def beside_blocks(evidence: Evidence) -> Iterator[HolderAnswer]:
    """The memory that no block uses, if a measured change gives back as much as is worth a change."""
    census, worth = evidence.census, evidence.worth
    other, apart = evidence.gain(evidence.best), evidence.apart_gain
    by_sites = max(apart[1], evidence.unpinned)
    if census.memory - census.live < worth or max(other[1], by_sites) < worth:
        return
    pinned = census.pinned >= census.retained and by_sites >= max(worth, AS_GOOD * other[1])
    if evidence.moment.regrown:
        gain = max(other, apart, key=lambda gain: gain[1])
        yield HolderAnswer(Kind.REGROWN, sure=True, bytes=gain[1], gain=gain)
    elif pinned or other[1] < worth:
        yield HolderAnswer(Kind.PINNED, sure=apart[0] >= worth, bytes=by_sites, gain=apart)
    else:
        yield HolderAnswer(Kind.RETAINED, sure=other[0] >= worth, bytes=other[1], gain=other)


def nothing(evidence: Evidence) -> HolderAnswer:
    if not evidence.complete or evidence.hurried:
        return HolderAnswer(Kind.NOTHING, sure=False)
    most = max(evidence.gain(evidence.best)[2], evidence.apart_gain[2])
    free = evidence.census.memory - evidence.census.live
    return HolderAnswer(Kind.NOTHING, sure=min(most, free) < evidence.worth)
