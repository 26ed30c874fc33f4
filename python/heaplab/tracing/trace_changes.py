"""Two recordings compared by call site; differences within the noise of one program do not count."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from math import sqrt
from statistics import fmean, stdev

from heaplab.report.tables.table_parts import Entry, Table
from heaplab.stats import student
from heaplab.text import units
from heaplab.traces import wrappers
from heaplab.traces.profile import Profile, Site
from heaplab.tracing.trace_tables import count, duration, size

MOST_CALLERS = 25
SHOWN_FUNCTIONS = 3  # functions of a stack in a name
NOISE = 0.99  # probability of the interval in which one more recording of a program lies


@dataclass(frozen=True)
class Amounts:
    """The blocks of one caller, summed up."""

    bytes: int = 0
    blocks: int = 0
    most_bytes: int = 0  # live at the same time
    live_bytes: int = 0  # at the end
    lifetimes: int = 0  # ticks, summed

    @classmethod
    def of(cls, site: Site) -> "Amounts":
        return cls(*(getattr(site, each.name) for each in fields(cls)))

    def __add__(self, other: "Amounts") -> "Amounts":
        return Amounts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


JUDGED = ("bytes", "blocks", "most_bytes", "live_bytes")  # lifetimes depend on the machine
NONE = Amounts()
# Functions of a stack, the innermost first: addresses and lines differ between builds.
Caller = tuple[str, ...]


@dataclass(frozen=True)
class ChangedCaller:
    caller: Caller
    old: Amounts
    new: Amounts

    @property
    def more(self) -> int:
        return self.new.bytes - self.old.bytes


@dataclass(frozen=True)
class Changes:
    """The differences between the recordings OLD and NEW."""

    old: Profile
    new: Profile
    repeats: int  # further recordings of OLD's program
    beyond_noise: list[ChangedCaller]  # differences beyond noise, the most bytes first
    noisy: int  # callers that differ no more than between recordings of OLD's program
    same: int  # callers without any difference

    @property
    def sentence(self) -> str:
        if not self.beyond_noise:
            return "No call site changed" + (" beyond noise." if self.noisy else ".")
        appeared = sum(change.old == NONE for change in self.beyond_noise)
        gone = sum(change.new == NONE for change in self.beyond_noise)
        changed = len(self.beyond_noise) - appeared - gone
        return f"Call sites: {changed} changed, {appeared} new, {gone} gone; {self.same} as before."

    @property
    def noise(self) -> str:
        """A sentence on what the noise was judged by."""
        if not self.repeats:
            return "What of this is noise is unknown: record OLD's program again, and give that as --again."
        left_out = units.counted(self.noisy, "call site")
        return (
            f"{left_out} left out: NEW lies where one more recording of OLD's program would, by "
            f"{self.repeats + 1} of them ({units.percent(NOISE)})."
        )

    def totals(self) -> list[tuple[str, str]]:
        """Labels and sentences about the whole process."""
        old, new = (sum(by_caller(profile).values(), NONE) for profile in (self.old, self.new))
        acquired = f"{both(size, old.bytes, new.bytes)} in {both(count, old.blocks, new.blocks)} blocks."
        return [
            ("Acquired", acquired),
            ("Peak", f"{both(size, self.old.peak_bytes, self.new.peak_bytes)} live."),
            ("At the end", f"{both(size, old.live_bytes, new.live_bytes)} live."),
        ]

    def table(self) -> Table:
        shown = self.beyond_noise[:MOST_CALLERS]
        rest = len(self.beyond_noise) - len(shown)
        caption = "Call sites that changed, by the difference in bytes acquired"
        caption += f": the first {len(shown)} of {len(self.beyond_noise)}" if rest else ""
        columns = ["bytes", "blocks", "at most", "at the end", "mean life"]
        rows = [
            (" < ".join(change.caller[:SHOWN_FUNCTIONS]) or "unknown", self._row(change)) for change in shown
        ]
        return Table(caption, columns, rows, "caller")

    def _row(self, changed_caller: ChangedCaller) -> list[Entry]:
        old, new = changed_caller.old, changed_caller.new
        return [
            Entry(both(size, old.bytes, new.bytes), title=" < ".join(changed_caller.caller)),
            Entry(both(count, old.blocks, new.blocks)),
            Entry(both(size, old.most_bytes, new.most_bytes)),
            Entry(both(size, old.live_bytes, new.live_bytes)),
            Entry(f"{mean_life(self.old, old)} → {mean_life(self.new, new)}"),
        ]


def changes(old: Profile, new: Profile, again: Sequence[Profile]) -> Changes:
    """Compare two recordings; `again` are further recordings of the program of `old`."""
    before, after = by_caller(old), by_caller(new)
    repeats = [before, *map(by_caller, again)]
    beyond_noise, noisy, same = [], 0, 0
    for caller in dict.fromkeys([*before, *after]):
        each = ChangedCaller(caller, before.get(caller, NONE), after.get(caller, NONE))
        known = [repeat.get(caller, NONE) for repeat in repeats]
        if not any(getattr(each.new, name) != getattr(each.old, name) for name in JUDGED):
            same += 1
        elif any(is_beyond(name, each, known) for name in JUDGED):
            beyond_noise.append(each)
        else:
            noisy += 1
    beyond_noise.sort(key=lambda change: (-abs(change.more), change.caller))
    return Changes(old, new, len(again), beyond_noise, noisy, same)


def is_beyond(name: str, changed_caller: ChangedCaller, known: Sequence[Amounts]) -> bool:
    """Whether an amount lies outside the prediction interval of the known recordings.

    The interval is that of a normal distribution with unknown mean and deviation. Two recordings show the
    deviation badly, so that the interval is wide; if all recordings agree, any difference counts.
    """
    values = [float(getattr(amounts, name)) for amounts in known]
    new = float(getattr(changed_caller.new, name))
    if len(values) == 1:
        return new != values[0]
    reach = student.quantile(len(values) - 1, (1 - NOISE) / 2) * stdev(values) * sqrt(1 + 1 / len(values))
    return abs(new - fmean(values)) > reach


def by_caller(profile: Profile) -> dict[Caller, Amounts]:
    """The sites of a profile by the functions of their stacks; places in one function are summed up.

    Wrappers are left out, because another version of a library may allocate by another wrapper.
    """
    amounts: dict[Caller, Amounts] = {}
    for site in profile.sites:
        caller = tuple(place.lasting_name for place in wrappers.useful_part(profile.frames(site.number)))
        amounts[caller] = amounts.get(caller, NONE) + Amounts.of(site)
    return amounts


def both(text: Callable[[float], str], old: float, new: float) -> str:
    return " → ".join(dict.fromkeys([text(old), text(new)]))


def mean_life(profile: Profile, of: Amounts) -> str:
    return duration(profile, of.lifetimes / of.blocks) if of.blocks else units.NOTHING
