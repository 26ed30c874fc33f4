"""The allocations of a recorded program, by thread and call site, under names that stay in later builds.

A thread is named after the function that it runs, not by its number: the outermost function of its stacks
that is not part of the system's libraries. Threads that run the same function count as one. A call site is
named after the first caller outside wrappers and the two callers above it.
"""

from collections import Counter, defaultdict
from functools import reduce
from typing import NamedTuple

from heaplab.traces import wrappers
from heaplab.traces.profile import NOBODY, Profile

MAIN, UNNAMED = "main", "unnamed"
MAIN_THREAD = 1  # the number of the main thread, which is the first to appear
DEEPEST = 3  # largest number of functions in the name of a call site


class Spender(NamedTuple):
    thread: str
    site: str


class Spent(NamedTuple):
    """The blocks of a spender, summed up."""

    calls: int = 0
    bytes: int = 0
    peak: int = 0  # most live bytes of each thread, summed up: the order of threads does not matter

    def plus(self, other: "Spent") -> "Spent":
        return Spent(*map(sum, zip(self, other, strict=True)))


class Spending(NamedTuple):
    """The amounts of one recording."""

    total: Spent  # its peak too is the sum over threads: that of the process depends on their timing
    of: dict[Spender, Spent]


def spending_of(profile: Profile) -> Spending:
    threads = threads_of(profile)
    spent: defaultdict[Spender, Spent] = defaultdict(Spent)
    for share in profile.shares:
        if share.thread != NOBODY:  # NOBODY: the block lived when the recording began
            spender = Spender(threads.get(share.thread, UNNAMED), site_of(profile, share.site))
            spent[spender] = spent[spender].plus(Spent(share.blocks, share.bytes, share.most_bytes))
    every = reduce(Spent.plus, spent.values(), Spent())
    peak = sum(most for thread, most in profile.thread_peaks.items() if thread != NOBODY)
    return Spending(every._replace(peak=peak), dict(spent))


def threads_of(profile: Profile) -> dict[int, str]:
    """The function of each thread, according to most of its blocks, because some stacks may end early."""
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
    """The outermost function of a stack that belongs to the program; "" if there is none."""
    for place in reversed(profile.frames(site)):
        if place.is_named and not wrappers.is_wrapper(place):
            return place.function
    return ""


def site_of(profile: Profile, site: int) -> str:
    """The first caller outside wrappers and its callers, without the functions that begin a thread."""
    useful = wrappers.useful_part(profile.frames(site))
    return " < ".join(place.lasting_name for place in useful[:DEEPEST]) or "unknown"


def sites_of(profile: Profile, name: str) -> list[int]:
    """The numbers of the call sites that a name stands for."""
    return [site.number for site in profile.sites if site_of(profile, site.number) == name]
