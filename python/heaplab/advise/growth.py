"""What grows, by the lifetimes of blocks: leaks, and data that grows, such as a cache without a bound.

The clock is the acquisitions of the process, so that rests and the load of the machine matter little.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from heaplab.traces.profile import Profile, SiteLives

Numbers = np.ndarray[Any, np.dtype[np.float64]]

FEWEST = 10  # blocks: fewer do not show a growth
SMALLEST = 4096  # B
KEPT = 0.98  # least probability that a block which has reached an age is not released later
OLD = 1 / 16  # share of the run: what is released at a higher age was not forgotten, but kept long
BY_FAR = 4  # a block is forgotten that is this many times as old as released blocks were at the end
STAGES = 16
LOW = 3  # place among sixteen sorted stages: the median is between it and the same from the end with 98 %
SPAN = 0.25  # share of the run, in acquisitions or in time, in which a growth is to be seen
FEWEST_COHORTS = 8  # for a growth that is long in time alone
AS_FAST = 0.7  # of the growth in the first half of a window behind a base, the second half has at least
GOES_ON = 0.25  # share of the mean growth that the last eighth of the stages has at least
LATE, LATE_SHARE = 2 / 3, 1 / 6  # from this part of the time on there is at least this share of the growth
FREED_LAST = 0.5  # share of the survivors: a program that frees so many in its last act had not lost them
RISE = 0.25  # share of a site's live bytes that it gained, if its blocks are not forgotten


@dataclass(frozen=True)
class SiteGrowth:
    """Blocks of the call sites of one name, which become more and more."""

    site: int  # the one with the most survivors
    name: str
    leaks: bool  # its old blocks are never released
    sure: bool
    blocks: int  # that are there to stay
    bytes: int
    acquired: int  # blocks
    freed_last: float  # share of the survivors that the last act frees
    of_thousand: tuple[float, float, float]  # bytes for each 1000 acquisitions: the least, typical, the most
    of_second: float  # bytes; 0 if the recording has no times

    @property
    def share(self) -> float:
        """Of all blocks, those that stay."""
        return self.blocks / max(1, self.acquired)


@dataclass(frozen=True)
class Clock:
    """The beginning of the run and the ends of its equal parts, up to the last act."""

    acquisitions: Numbers
    seconds: Numbers

    @property
    def cohorts(self) -> int:
        return len(self.acquisitions) - 1

    @property
    def halves(self) -> list[int]:
        """The cohorts with which the second half of the run begins: of its acquisitions, of its time."""
        return [self.cohorts // 2, int(np.searchsorted(self.seconds, self.seconds[-1] / 2))]

    def part(self, acquisitions: float) -> float:
        """So many acquisitions as a number of cohorts."""
        return acquisitions / max(1.0, float(self.acquisitions[-1])) * self.cohorts


def growths_of(profile: Profile) -> list[SiteGrowth]:
    """What grows, the most bytes first."""
    clock = clock_of(profile)
    named: dict[str, list[SiteLives]] = {}
    for site in profile.lifetimes.sites:
        named.setdefault(profile.chain(site.site), []).append(site)
    growths = [growth_of(name, sites, clock, profile) for name, sites in named.items()]
    return sorted((growth for growth in growths if growth), key=lambda growth: -growth.bytes)


def clock_of(profile: Profile) -> Clock:
    of = profile.lifetimes
    stamps = np.array([profile.origin, *of.cohort_stamps, of.last_act], dtype=float)
    parts = np.linspace(0, of.acquisitions, len(stamps))
    return Clock(parts, (stamps - stamps[0]) / (profile.ticks_per_second or 1))


def growth_of(name: str, sites: list[SiteLives], clock: Clock, profile: Profile) -> SiteGrowth | None:
    """The growth of the call sites of one name, if there is one: a leak, or live bytes that rise."""
    released = summed([site.released for site in sites])
    ages = summed([site.ages for site in sites])
    blocks = summed([site.cohort_blocks for site in sites])[: clock.cohorts]
    in_bytes = summed([site.cohort_bytes for site in sites])[: clock.cohorts]
    freed_last = float(sum(site.freed_last_blocks for site in sites) / max(1.0, ages.sum()))
    old = clock.cohorts - int(np.ceil(clock.part(BY_FAR * kept_from(released, ages))))
    curve, leaks = np.zeros(1), False
    if old >= (1 - BY_FAR * OLD) * clock.cohorts and blocks[:old].sum() >= FEWEST:
        curve, leaks = curve_of(in_bytes[:old]), bool(freed_last < FREED_LAST)
    rising = leaks or len(curve) > 1
    if rising:
        rise = first_steady(curve, clock)
    else:
        course = summed([[*site.course, *[0] * (clock.cohorts - 1 - len(site.course))] for site in sites])
        curve = np.array([0.0, *course, in_bytes.sum()])
        rise = steadiness(curve, clock, begin_of(curve), needed=RISE) if curve.any() else None
    if rise is None or rise.gained < SMALLEST:
        return None
    stays = blocks[rise.begin : old].sum() if rising else blocks.sum()
    low, typical, high = rise.rates
    span = clock.seconds[len(curve) - 1] - clock.seconds[rise.begin]
    calls = clock.acquisitions[len(curve) - 1] - clock.acquisitions[rise.begin]
    # Where a window has releases of blocks from before it, those that it sees acquired may follow behind it.
    ends_seen = profile.released_older <= (1 - KEPT) * stays
    return SiteGrowth(
        site=max(sites, key=lambda site: sum(site.cohort_blocks)).site,
        name=name,
        leaks=leaks,
        sure=profile.timed and low > 0 and ends_seen and len(curve) - 1 - rise.begin >= SPAN * clock.cohorts,
        blocks=int(stays),
        bytes=int(rise.gained),
        acquired=int(released.sum() + ages.sum()),
        freed_last=freed_last,
        of_thousand=(low * 1000, typical * 1000, high * 1000),
        of_second=float(typical * calls / span) if profile.timed and span > 0 else 0.0,
    )


def summed(rows: list[list[int]]) -> Numbers:
    total: Numbers = np.sum(np.array(rows, dtype=float), axis=0)
    return total


def curve_of(increments: Numbers) -> Numbers:
    return np.concatenate([[0.0], np.cumsum(increments)])


def kept_from(released: Numbers, ages: Numbers) -> float:
    """The age from which on next to no block is released any more, in acquisitions.

    Kaplan-Meier's estimate by classes of ages: of a block that lives at the end only its age is known, and
    it counts as at risk of being released for half of its class.
    """
    at_risk = np.cumsum((released + ages)[::-1])[::-1] - ages / 2
    stays = 1 - np.divide(released, at_risk, out=np.zeros_like(released), where=at_risk > 0)
    kept = np.cumprod(stays[::-1])[::-1]
    first = int(np.argmax(kept >= KEPT)) if kept[-1] >= KEPT else len(kept)
    return 0.0 if first == 0 else 2.0 ** (first - 1)


@dataclass(frozen=True)
class SteadyGrowth:
    """A growth since the cohort `begin`; the rates are bytes for each acquisition: least, typical, most."""

    begin: int
    gained: float
    rates: tuple[float, float, float]


def begin_of(curve: Numbers) -> int:
    return int(np.flatnonzero(curve)[0]) - 1


def first_steady(curve: Numbers, clock: Clock) -> SteadyGrowth | None:
    """The growth of blocks that stay: since the first of them, or behind a base, in the second half."""
    if not curve.any():
        return None
    first = begin_of(curve)
    if steady := steadiness(curve, clock, first, needed=0.0):
        return steady
    for begin in sorted(half for half in clock.halves if first < half < len(curve) - FEWEST_COHORTS):
        middle = curve[(begin + len(curve) - 1) // 2]
        goes_on = curve[-1] - middle >= AS_FAST * (middle - curve[begin])
        if goes_on and (steady := steadiness(curve - curve[begin], clock, begin, needed=0.0)):
            return steady
    return None


def steadiness(curve: Numbers, clock: Clock, begin: int, needed: float) -> SteadyGrowth | None:
    """The growth from a cohort on; None if it is no steady growth.

    The typical rate is Theil and Sen's slope; the others are the fourth and the thirteenth of the rates of
    sixteen stages in order, between which their true median lies with a probability of 98 %. What is taken
    away later has not grown: `needed`, a share of its end that it gains, is looked at in the lows.
    """
    end = len(curve) - 1
    seconds = clock.seconds[: end + 1]
    lasts = seconds[end] - seconds[begin] >= SPAN * clock.seconds[-1] and end - begin >= FEWEST_COHORTS
    if end - begin < SPAN * clock.cohorts and not lasts:
        return None
    lows = np.minimum.accumulate(curve[::-1])[::-1]
    stages = min(STAGES, end - begin)
    edges = np.linspace(begin, end, stages + 1)
    places = np.arange(len(curve))
    heights = np.interp(edges, places, lows)
    calls = np.interp(edges, places, clock.acquisitions[: end + 1])
    rises = np.diff(heights)
    rates = np.sort(rises / np.maximum(np.diff(calls), 1e-9))
    late = np.interp(LATE * seconds[end] + (1 - LATE) * seconds[begin], seconds, lows)
    gained = curve[end] - (heights[1] if needed else 0)
    goes_on = rises[-2:].mean() >= GOES_ON * rises.mean() and curve[end] - late >= LATE_SHARE * curve[end]
    low = LOW * stages // STAGES
    enough = rates[low] > 0 if needed else np.median(rises) > 0
    if not (goes_on and enough and gained >= needed * curve[end]):
        return None
    return SteadyGrowth(
        begin, float(curve[end]), (float(rates[low]), theil_sen(calls, heights), float(rates[-1 - low]))
    )


def theil_sen(x: Numbers, y: Numbers) -> float:
    """The median slope of all pairs of points."""
    growth, other = np.triu_indices(len(x), 1)
    apart = x[other] > x[growth]
    return float(np.median((y[other] - y[growth])[apart] / (x[other] - x[growth])[apart]))
