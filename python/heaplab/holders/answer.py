"""One of six answers to the question what holds the memory, with figures and certainty."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from heaplab.holders.census import Census, Replays
from heaplab.holders.moments import Moment, moment_of
from heaplab.holders.other_ways import OtherWay
from heaplab.holders.rise import Rise, growth_of
from heaplab.holders.what_if import WhatIf
from heaplab.traces.profile import Profile

SMALLEST = 1 << 20  # B: fewer are not worth a change
SHARE = 0.1  # of the peak: less is not worth a change
LIVE = 0.75  # share of live bytes in memory from which on the answer is live data
AS_GOOD = 0.5  # share of the best allocator's gain from which on sites apart come before allocators


class Kind(StrEnum):
    """What holds the memory."""

    LIVE = "live data"
    GROWING = "growing"
    RETAINED = "retained"
    PINNED = "pinned"
    REGROWN = "taken again"
    NOTHING = "nothing to gain"


@dataclass(frozen=True)
class Evidence:
    """The recording and the replays that an answer rests on."""

    profile: Profile
    replays: list[Replays]  # the first is the baseline
    what_if: WhatIf | None = None
    other_ways: Sequence[OtherWay] = ()

    @property
    def base(self) -> Replays:
        return self.replays[0]

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
        found = (
            self.what_if.less(number, one, self.moment.place)[1]
            for number, one in enumerate(self.replays)
            if self.what_if and one.name.startswith(f"{self.base.name} + ")
        )
        return next(found, 0)

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
        return min(self.replays, key=lambda one: one.memory(self.moment.place)[1])


@dataclass(frozen=True)
class HolderAnswer:
    """The answer; `gain` is the number of bytes less: the least, of medians, the most."""

    kind: Kind
    sure: bool  # all replays agree
    gain: tuple[int, int, int] = (0, 0, 0)
    growth: Rise | None = None


def judge(evidence: Evidence) -> HolderAnswer:
    """The answer: nothing to gain, unless a measured change gives back as much as is worth a change."""
    census, worth = evidence.census, evidence.worth
    growth = growth_of(evidence.profile)
    if growth and growth.bytes >= worth and 2 * growth.bytes > census.memory - census.live:
        return HolderAnswer(Kind.GROWING, sure=evidence.profile.timed, growth=growth)
    if census.memory - census.live < worth:
        lives = census.live >= worth and census.live >= LIVE * census.memory
        return HolderAnswer(Kind.LIVE if lives else Kind.NOTHING, sure=True)
    other, apart = evidence.gain(evidence.best), evidence.apart_gain
    by_sites = max(apart[1], evidence.unpinned)
    if max(other[1], by_sites) < worth:
        return HolderAnswer(Kind.NOTHING, sure=max(other[2], apart[2]) < worth)
    if evidence.moment.regrown:
        return HolderAnswer(Kind.REGROWN, sure=True, gain=max(other, apart, key=lambda gain: gain[1]))
    pinned = census.pinned >= census.retained and by_sites >= max(worth, AS_GOOD * other[1])
    if pinned or other[1] < worth:
        return HolderAnswer(Kind.PINNED, sure=apart[0] >= worth, gain=apart)
    return HolderAnswer(Kind.RETAINED, sure=other[0] >= worth, gain=other)
