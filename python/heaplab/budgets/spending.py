"""What a recorded program allocated, by thread and call site, by names that hold in later builds.

A thread is known by what it runs, not by its number: the outermost function of its stacks that is no part of
the system's libraries. Threads that run the same are one. A call site is known by the first caller outside
wrappers and two that called it.
"""

from collections import Counter, defaultdict
from functools import reduce
from typing import NamedTuple

from heaplab.trace_report.trace_changes import name_of
from heaplab.traces import wrappers
from heaplab.traces.profile import NOBODY, Profile

MAIN, UNNAMED = "main", "unnamed"
MAIN_THREAD = 1  # its number: it appears first
DEEPEST = 3  # functions of a stack that name a call site


class Spender(NamedTuple):
    thread: str
    site: str


class Spent(NamedTuple):
    """What the blocks of a spender came to."""

    calls: int = 0
    bytes: int = 0
    peak: int = 0  # bytes live at a time, summed over threads: so the order of threads makes no difference

    def plus(self, other: "Spent") -> "Spent":
        return Spent(*map(sum, zip(self, other, strict=True)))


class Spending(NamedTuple):
    """What one recording came to."""

    total: Spent  # its peak too is summed over threads: the process's tells which of them ran at once
    of: dict[Spender, Spent]


def spending_of(profile: Profile) -> Spending:
    threads = threads_of(profile)
    found: defaultdict[Spender, Spent] = defaultdict(Spent)
    for share in profile.shares:
        if share.thread != NOBODY:  # else the block lived when the recording began
            spender = Spender(threads.get(share.thread, UNNAMED), site_of(profile, share.site))
            found[spender] = found[spender].plus(Spent(share.blocks, share.bytes, share.most_bytes))
    every = reduce(Spent.plus, found.values(), Spent())
    peak = sum(most for thread, most in profile.thread_peaks.items() if thread != NOBODY)
    return Spending(every._replace(peak=peak), dict(found))


def threads_of(profile: Profile) -> dict[int, str]:
    """What each thread runs, as most of its blocks have it: a stack may end early."""
    votes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for share in profile.shares:
        if name := outermost(profile, share.site):
            votes[share.thread][name] += share.blocks
    named = {
        thread: min(counted.items(), key=lambda vote: (-vote[1], vote[0]))[0]
        for thread, counted in votes.items()
    }
    return named | {MAIN_THREAD: MAIN}


def outermost(profile: Profile, site: int) -> str:
    """The outermost function of a stack that is the program's; "" without one."""
    for place in reversed(profile.frames(site)):
        if place.is_named and not wrappers.is_wrapper(place):
            return place.function
    return ""


def site_of(profile: Profile, site: int) -> str:
    """The first caller outside wrappers and what called it, without what begins a thread."""
    useful = wrappers.useful_part(profile.frames(site))
    return " < ".join(name_of(place) for place in useful[:DEEPEST]) or "unknown"


def sites_of(profile: Profile, name: str) -> list[int]:
    """The numbers of the call sites that a name stands for."""
    return [site.number for site in profile.sites if site_of(profile, site.number) == name]
