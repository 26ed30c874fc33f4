"""What a process of a trace did with memory (src/trace/profile/profile.h), with names for its call sites."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from heaplab.traces import architecture, debug_info, symbols, tool, wrappers

NOBODY = 0  # in place of the number of a thread
CHAIN = 3  # largest number of places of a stack in a table
LEAST_WITHOUT_NAMES = 0.1  # share of the call sites without names that is worth a note
KINDS = {
    **dict(
        enumerate(
            (
                *("malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign", "valloc"),
                *("pvalloc", "new", "new[]", "new nothrow", "new[] nothrow", "reallocarray"),
            ),
            1,
        )
    ),
    **dict(
        enumerate(
            (
                *("free", "free_sized", "free_aligned_sized", "realloc", "delete", "delete[]"),
                *("delete sized", "delete[] sized", "reallocarray"),
            ),
            32,
        )
    ),
    **dict(enumerate(("thread_begin", "thread_end", "thread_create", "thread_join"), 64)),
}


class Stretch(NamedTuple):
    """The events in a stretch of time, and the live memory in it."""

    peak_bytes: int
    peak_blocks: int
    live_bytes: int
    live_blocks: int
    acquisitions: int
    bytes_acquired: int
    releases: int


class Site(NamedTuple):
    """The blocks of one call site, summed up."""

    number: int
    bytes: int
    blocks: int
    most_bytes: int  # of the site, live at the same time
    most_blocks: int  # live at that time
    peak_bytes: int  # live at the peak of the process
    peak_blocks: int
    live_bytes: int  # at the end
    live_blocks: int
    lifetimes: int  # ticks, summed
    remote: int  # blocks that another thread released
    growths: int  # blocks that came from a reallocation
    bytes_moved: int


NO_BLOCKS = Site(*[0] * len(Site._fields))


class SiteLives(NamedTuple):
    """How long the blocks of a call site live, of which some live when the last act begins: survivors."""

    site: int
    freed_last_blocks: int  # survivors that were freed in the last act
    freed_last_bytes: int
    released: list[int]  # blocks by lifetime: class n has 2^(n-1) to 2^n - 1 acquisitions of the process
    ages: list[int]  # survivors by age, in the same classes
    cohort_blocks: list[int]  # survivors by the part of all acquisitions in which they were acquired
    cohort_bytes: list[int]
    course: list[int]  # live bytes at the end of each part but the last; missing ones are 0


@dataclass(frozen=True)
class Lifetimes:
    """The call sites with most survivors, and the clock of acquisitions (src/trace/profile/lifetimes.h)."""

    last_act: int  # stamp; of a process without, behind its end
    acquisitions: int  # before it
    cohort_stamps: list[int]  # ends of the equal parts of these acquisitions, but for the last
    sites: list[SiteLives]


class Share(NamedTuple):
    """The blocks of a call site that one thread acquired."""

    thread: int  # or NOBODY
    site: int
    bytes: int
    blocks: int
    most_bytes: int  # live at the same time


class Life(NamedTuple):
    """Blocks of a class of sizes and a class of lifetimes."""

    size: int  # binary logarithm of the largest size
    life: int  # index of the bound; the next index: longer than all bounds; then: live at the end
    blocks: int
    bytes: int


class Passed(NamedTuple):
    """Blocks that one thread acquired and one released.

    Nobody acquired the blocks that lived when the recording began, and nobody released those that live at
    its end.
    """

    acquirer: int
    releaser: int
    blocks: int
    bytes: int

    @property
    def lived_before(self) -> bool:
        return self.acquirer == NOBODY

    @property
    def remote(self) -> bool:
        """Whether another thread released the blocks than acquired them."""
        return self.acquirer != self.releaser and NOBODY not in (self.acquirer, self.releaser)


class Growths(NamedTuple):
    calls: int
    moved: int
    bytes_moved: int
    shrank: int
    chains: list[int]  # blocks by number of reallocations on their way: [0] none, [n] 2^(n-1) to 2^n - 1


@dataclass(frozen=True)
class Profile:
    """What one process did with memory: sums over its events."""

    trace: Path
    process: int  # number in the trace
    of: dict[str, str]  # properties (docs/trace-format.md)
    cpu_ns: int  # of all threads; 0: not known
    ticks_per_second: int  # 0: stamps only order events
    origin: int  # stamp of the first event
    width: int  # of a stretch, in stamps
    last_stamp: int
    peak_stamp: int
    peak_bytes: int
    peak_blocks: int
    stretches: list[Stretch]
    lifetime_bounds: list[int]  # ticks
    resolution: float  # of times, in s: shorter times only order events
    shortest_life: int  # index of the first class of lifetimes that the resolution tells apart
    lives: list[Life]
    threads: list[Passed]
    growths: Growths
    kinds: dict[str, int]  # events by name of the call
    sites: list[Site]
    shares: list[Share]
    thread_peaks: dict[int, int]  # by thread or NOBODY: most bytes of its blocks live at the same time
    lifetimes: Lifetimes
    stacks: list[list[int]]  # code addresses of site n + 1, the innermost first
    places: symbols.Names
    modules: list[symbols.Module]
    released_older: int = 0  # blocks that lived before a window, of which no more is known

    @property
    def program(self) -> str:
        return PurePath(self.of.get("program", "?")).name

    @property
    def pid(self) -> str:
        return self.of.get("pid", "?")

    @property
    def seconds(self) -> float:
        """The time from the first event to the last; 0 if stamps only order events."""
        return self.time(self.last_stamp) if self.timed else 0.0

    def time(self, stamp: int) -> float:
        """Seconds since the first event; the number of events if stamps only order events."""
        return (stamp - self.origin) / (self.ticks_per_second or 1)

    @property
    def timed(self) -> bool:
        return self.ticks_per_second != 0

    @property
    def live_before_last_act(self) -> int:
        """Live bytes when the last act begins, at most."""
        at = min((self.lifetimes.last_act - self.origin) // self.width, len(self.stretches) - 1)
        return self.stretches[at].peak_bytes

    @property
    def addresses(self) -> list[int]:
        """The addresses in the stacks of all sites with blocks, each once."""
        return list(dict.fromkeys(address for site in self.sites for address in self.stack(site.number)))

    def stack(self, site: int) -> list[int]:
        return self.stacks[site - 1] if 0 < site <= len(self.stacks) else []

    def place(self, address: int) -> symbols.Place:
        return self.places.get(address) or symbols.Place(f"0x{address:x}")

    def frames(self, site: int) -> list[symbols.Place]:
        """The places of a stack, the innermost first, with the places of inlined functions."""
        places = [self.place(address) for address in self.stack(site)]
        return [frame for place in places for frame in (place, *place.inlined_into)]

    def chain(self, site: int) -> str:
        """The first caller outside wrappers, and the functions that called it, as a table shows them."""
        places = wrappers.useful_part(self.frames(site))
        first, *around = places[:CHAIN] or [symbols.Place("unknown")]
        return " < ".join([first.short, *(frame.function for frame in around)])

    def useful(self, site: int) -> symbols.Place:
        """The first caller outside wrappers."""
        places = self.frames(site)
        return places[wrappers.first_useful(places)] if places else symbols.Place()

    @property
    def without_names(self) -> str:
        """A note on the file that leaves the most call sites without names; "" if hardly any lack one."""
        useful = [self.useful(site.number) for site in self.sites]
        files = Counter(place.module for place in useful if place.module and not place.is_named)
        if sum(files.values()) < LEAST_WITHOUT_NAMES * len(useful) or not files:
            return ""
        path, sites = files.most_common(1)[0]
        return (
            f"{sites} of {len(useful)} call sites have no name: {path} has no symbols for them; "
            f"{debug_info.advice(path)}"
        )


def of_process(
    trace: Path, summary: dict[str, Any], process: int, progress: tool.Progress = lambda _done, _whole: None
) -> Profile:
    """The profile of process number `process` in the trace of this summary. One pass over the events."""
    report = tool.profile(trace, process, progress)
    sites = [Site(*row) for row in report["sites"]]
    known = tool.sites(trace, process)
    of, sums = (summary["processes"][process][part] for part in ("process", "summary"))
    ticks_per_second = int(of.get("ticks_per_second") or 0)
    resolution = int(of.get("resolution_ns") or 0) / 1e9
    shortest = sum(ticks < resolution * ticks_per_second for ticks in report["lifetime_bounds"])
    return Profile(
        trace=trace,
        process=process,
        of=of,
        cpu_ns=int(sums.get("cpu_ns") or 0),
        ticks_per_second=ticks_per_second,
        origin=report["origin"],
        width=report["width"],
        last_stamp=report["last_stamp"],
        peak_stamp=report["peak_stamp"],
        peak_bytes=report["peak_bytes"],
        peak_blocks=report["peak_blocks"],
        stretches=[Stretch(*row) for row in report["stretches"]],
        lifetime_bounds=report["lifetime_bounds"],
        resolution=resolution,
        shortest_life=shortest,
        lives=told_apart([Life(*row) for row in report["lives"]], shortest),
        threads=[Passed(*row) for row in report["threads"]],
        growths=Growths(**report["growths"]),
        kinds=kinds_of(report["kinds"]),
        sites=sites,
        shares=[Share(*row) for row in report["shares"]],
        thread_peaks=dict(report["acquirers"]),
        lifetimes=lifetimes_of(report["lifetimes"]),
        stacks=known["sites"],
        places=places_of(known, summary["machine"]),
        modules=symbols.modules_of(known["modules"], known["build_ids"]),
        released_older=0 if of.get("forked") == "1" else int(sums.get("released_inherited") or 0),
    )


def lifetimes_of(values: dict[str, Any]) -> Lifetimes:
    return Lifetimes(**{**values, "sites": [SiteLives(*row) for row in values["sites"]]})


def places_of(known: dict[str, Any], machine: int) -> symbols.Names:
    """The names of the code addresses of sites; for a trace from another machine only from the trace."""
    modules = known["modules"] if machine == architecture.HERE else ""
    addresses = {address for stack in known["sites"] for address in stack}
    return symbols.places(addresses, modules, known["names"], known["build_ids"])


def told_apart(lives: Iterable[Life], shortest: int) -> list[Life]:
    """Merge the classes of lifetimes that the resolution of times does not tell apart."""
    amounts: dict[tuple[int, int], tuple[int, int]] = {}
    for life in lives:
        key = (life.size, max(life.life, shortest))
        blocks, in_bytes = amounts.get(key, (0, 0))
        amounts[key] = (blocks + life.blocks, in_bytes + life.bytes)
    return [Life(*key, *amount) for key, amount in amounts.items()]


def kinds_of(rows: list[list[int]]) -> dict[str, int]:
    """Counts by name: a reallocation, which is a release and an acquisition, counts as one call."""
    counts: dict[str, int] = {}
    for kind, count in rows:
        name = KINDS[kind]
        counts[name] = max(counts.get(name, 0), count)
    return counts


def busiest(summary: dict[str, Any]) -> int:
    """The process with the most events. Precondition: there is one."""
    processes = summary["processes"]
    return max(range(len(processes)), key=lambda number: int(processes[number]["events"]))
