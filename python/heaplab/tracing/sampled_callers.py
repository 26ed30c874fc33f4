"""The call sites of a snapshot by name, and what changed between two snapshots, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heaplab.traces import estimates, wrappers
from heaplab.traces.estimates import Estimate
from heaplab.traces.profile import CHAIN, Profile
from heaplab.traces.sample_file import Head, PinnedSum, ProcessSamples, SampleSum, Snapshot
from heaplab.traces.sample_profile import profile_of
from heaplab.traces.symbols import Names

NOTHING, UNPINNED = SampleSum(), PinnedSum()
Key = tuple[str, ...]  # functions, the innermost first: addresses and lines differ between builds


@dataclass(frozen=True)
class SampledCaller:
    """The blocks of the call sites that have the same first functions."""

    name: str  # of the call site that allocated most
    stack: str
    acquired: SampleSum = NOTHING
    live: SampleSum = NOTHING
    lives: tuple[int, ...] = ()  # samples by lifetime: below 4 ms, 16 ms, 64 ms ...
    ages: tuple[int, ...] = ()
    pinned: PinnedSum = UNPINNED

    @property
    def kept(self) -> float:
        """The share of the samples that live."""
        return self.live.samples / max(1, self.acquired.samples)


@dataclass(frozen=True)
class SampledMoment:
    """A process in a snapshot, with the names of its call sites."""

    path: Path
    head: Head
    snapshot: Snapshot
    number: int  # of the process
    profile: Profile
    callers: dict[Key, SampledCaller]

    @property
    def process(self) -> ProcessSamples:
        return self.snapshot.processes[self.number]

    @property
    def mean(self) -> int:
        return self.head.sample_bytes

    @property
    def live(self) -> Estimate:
        return estimates.of_bytes(self.process.live, self.mean)

    @property
    def pinned(self) -> Estimate | None:
        """Unused bytes of pages that hold live blocks; None: no pages were watched."""
        pinned = self.process.pinned
        return estimates.of_pinned(pinned, self.head) if pinned and self.head.page_period else None

    @property
    def acquired(self) -> Estimate:
        return estimates.of_bytes(self.process.acquired, self.mean)


def moment_of(
    path: Path, head: Head, snapshot: Snapshot, number: int, names: Names | None = None
) -> SampledMoment:
    """`names` are those of code addresses that are known already; those that are found are added."""
    profile = profile_of(path, head, snapshot, number, names)
    callers = callers_of(profile, snapshot.processes[number])
    return SampledMoment(path, head, snapshot, number, profile, callers)


def callers_of(profile: Profile, process: ProcessSamples) -> dict[Key, SampledCaller]:
    callers: dict[Key, SampledCaller] = {}
    for number, site in enumerate(process.sites, 1):  # the most bytes first
        frames = profile.frames(number)
        key = tuple(place.lasting_name for place in wrappers.useful_part(frames)[:CHAIN]) if frames else ()
        known = callers.get(key) or SampledCaller(profile.chain(number), "\n".join(map(str, frames)))
        callers[key] = replace(
            known,
            acquired=known.acquired.plus(site.acquired),
            live=known.live.plus(site.live),
            lives=added(known.lives, site.lives),
            ages=added(known.ages, site.ages),
            pinned=known.pinned.plus(site.pinned),
        )
    return callers


def added(some: Sequence[int], others: Sequence[int]) -> tuple[int, ...]:
    length = max(len(some), len(others))
    first, second = ([*row, *[0] * (length - len(row))] for row in (some, others))
    return tuple(a + b for a, b in zip(first, second, strict=True))


@dataclass(frozen=True)
class SampledChange:
    name: str
    old: SampleSum  # live
    new: SampleSum
    by: Estimate

    @property
    def is_shown(self) -> bool:
        """Whether the interval leaves no doubt of the direction."""
        return self.by.low > 0 or self.by.high < 0


def changes(old: SampledMoment, new: SampledMoment) -> list[SampledChange]:
    """The changes of live bytes by caller, the largest first."""
    by_caller = []
    mean = max(old.mean, new.mean)
    for key in dict.fromkeys([*old.callers, *new.callers]):
        before, after = old.callers.get(key), new.callers.get(key)
        amounts = before.live if before else NOTHING, after.live if after else NOTHING
        named = after or before
        assert named
        if amounts != (NOTHING, NOTHING):
            by_caller.append(SampledChange(named.name, *amounts, by=estimates.difference(*amounts, mean)))
    return sorted(by_caller, key=lambda change: -abs(change.by.value))
