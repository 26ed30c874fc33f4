"""Tables of a profile: sizes by lifetimes, threads, call sites, reallocations, calls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

from heaplab.report.tables.table_parts import Entry, Table, sequential
from heaplab.text import units
from heaplab.traces.profile import NOBODY, Profile, Site

K = 1024
MOST_SITES = 15
MOST_THREADS = 12
OTHERS = -1


def count(number: float) -> str:
    return units.show(number, "1")


def size(number: float) -> str:
    return f"{number:.0f} B" if number == int(number) < K else units.show(number, "B")


def share(part: float, whole: float) -> str:
    return units.percent(part / whole) if whole else units.NOTHING


def duration(profile: Profile, ticks: float) -> str:
    if not profile.timed:
        return units.counted(round(ticks), "call")
    seconds = ticks / profile.ticks_per_second
    if seconds < profile.resolution:
        return f"< {bound(profile, profile.shortest_life)}"
    return units.show(seconds, "s")


def bound(profile: Profile, life: int) -> str:
    """The upper bound of a class of lifetimes, a power of ten, in words."""
    ticks = profile.lifetime_bounds[life]
    if not profile.timed:
        return units.counted(ticks, "call")
    seconds = float(f"{ticks / profile.ticks_per_second:.0e}")
    step = units.scale("s", seconds)
    return f"{round(seconds / step.factor)} {step.label}"


def shade(value: int, largest: int) -> str:
    """A colour from white to blue by the logarithm, so that rare blocks stay visible."""
    return sequential(log(1 + value) / log(1 + largest)) if value else ""


# Sizes by lifetimes


def lives(profile: Profile) -> list[Table]:
    """Sizes by lifetimes, as numbers of blocks and as bytes."""
    bounds = [bound(profile, life) for life in range(len(profile.lifetime_bounds))]
    heads = [*(f"below {text}" for text in bounds), f"above {bounds[-1]}", "at the end"]
    at_end = len(heads) - 1
    used = {life.life for life in profile.lives} - {at_end}
    shown = [*range(min(used, default=0), max(used, default=-1) + 1), at_end]
    return [
        _lives(profile, shown, heads, "Blocks by size and lifetime", lambda life: life.blocks, count),
        _lives(profile, shown, heads, "The same in bytes", lambda life: life.bytes, size),
    ]


def _lives(
    profile: Profile,
    shown: Sequence[int],
    heads: Sequence[str],
    caption: str,
    amount: Callable[..., int],
    text: Callable[[float], str],
) -> Table:
    amounts = {(life.size, life.life): amount(life) for life in profile.lives}
    largest = max(amounts.values(), default=0)
    rows = []
    for size_class in sorted({size_class for size_class, _ in amounts}):
        values = [amounts.get((size_class, life), 0) for life in shown]
        entries = [
            Entry(text(value), color=shade(value, largest)) if value else Entry("") for value in values
        ]
        rows.append((units.parameter(1 << size_class), entries))
    return Table(caption, [heads[life] for life in shown], rows, "up to B")


# Threads


def threads(profile: Profile) -> Table:
    """The blocks that each thread acquired, by the thread that released them."""
    passed: dict[int, int] = {}
    for row in profile.threads:
        for each in {row.acquirer, row.releaser} - {NOBODY}:
            passed[each] = passed.get(each, 0) + row.blocks
    kept = sorted(sorted(passed, key=lambda thread: -passed[thread])[:MOST_THREADS])
    amounts: dict[tuple[int, int], tuple[int, int]] = {}
    for row in profile.threads:
        key = (_kept(row.acquirer, kept), _kept(row.releaser, kept))
        blocks, in_bytes = amounts.get(key, (0, 0))
        amounts[key] = (blocks + row.blocks, in_bytes + row.bytes)
    named = kept + ([OTHERS] if len(passed) > len(kept) else [])
    before = [NOBODY] if any(row.lived_before for row in profile.threads) else []
    largest = max((blocks for blocks, _ in amounts.values()), default=0)
    rows = []
    for giver in [*named, *before]:
        entries = [_passed(amounts.get((giver, taker)), largest) for taker in [*named, NOBODY]]
        rows.append((_thread(giver) if giver != NOBODY else "lived before", entries))
    caption = "Blocks and bytes by the thread that acquired them (down) and that released them (across)"
    return Table(caption, [_thread(thread) for thread in [*named, NOBODY]], rows, "thread")


def _kept(thread: int, kept: Sequence[int]) -> int:
    return thread if thread in kept or thread == NOBODY else OTHERS


def _thread(thread: int) -> str:
    return {NOBODY: "nobody", OTHERS: "others"}.get(thread, str(thread))


def _passed(amount: tuple[int, int] | None, largest: int) -> Entry:
    if not amount:
        return Entry("")
    return Entry(count(amount[0]), small=size(amount[1]), color=shade(amount[0], largest))


# Call sites


@dataclass(frozen=True)
class Order:
    caption: str
    column: str
    by: Callable[[Site], int]
    text: Callable[[float], str]


ORDERS = [
    Order("Call sites by bytes acquired", "bytes", lambda site: site.bytes, size),
    Order("Call sites by blocks acquired", "blocks", lambda site: site.blocks, count),
    Order("Call sites by bytes live at the peak", "at the peak", lambda site: site.peak_bytes, size),
    Order("Call sites by bytes live at the end", "at the end", lambda site: site.live_bytes, size),
    Order("Call sites by bytes that reallocations moved", "moved", lambda site: site.bytes_moved, size),
]


def sites(profile: Profile, order: Order) -> Table:
    """The first sites of an order, with the figures that are asked for most."""
    ordered = sorted(profile.sites, key=order.by, reverse=True)
    whole = sum(map(order.by, ordered))
    shown = [site for site in ordered[:MOST_SITES] if order.by(site)]
    rest = len([site for site in ordered if order.by(site)]) - len(shown)
    others = [name for name in COLUMNS if name != order.column]
    rows = []
    for site in shown:
        stack = "\n".join(str(profile.place(address)) for address in profile.stack(site.number))
        texts = [share(order.by(site), whole), *(COLUMNS[name](profile, site) for name in others)]
        here = Entry(order.text(order.by(site)), title=stack)
        rows.append((profile.chain(site.number), [here, *map(Entry, texts)]))
    caption = order.caption + (f": the first {len(shown)} of {len(shown) + rest}" if rest else "")
    return Table(caption, [order.column, "share", *others], rows, "caller", notes=[REMOTE])


COLUMNS: dict[str, Callable[[Profile, Site], str]] = {
    "bytes": lambda _, site: size(site.bytes),
    "blocks": lambda _, site: count(site.blocks),
    "mean size": lambda _, site: size(site.bytes / site.blocks),
    "mean life": lambda profile, site: duration(profile, site.lifetimes / site.blocks),
    "at the peak": lambda _, site: size(site.peak_bytes),
    "most": lambda _, site: size(site.most_bytes),
    "remote": lambda _, site: share(site.remote, site.blocks),
    "reallocs": lambda _, site: count(site.growths),
}
REMOTE = "remote: released by another thread than acquired them."


# Reallocations and calls


def chains(profile: Profile) -> Table:
    """Blocks by the number of reallocations they went through."""
    chains, whole = profile.growths.chains, sum(profile.growths.chains)
    rows = [
        (_chain(number), [Entry(count(blocks)), Entry(share(blocks, whole))])
        for number, blocks in enumerate(chains)
        if blocks
    ]
    caption = "Blocks by the number of reallocations that they went through"
    return Table(caption, ["blocks", "share"], rows, "reallocations")


def _chain(number: int) -> str:
    first, last = (1 << number) >> 1, (1 << number) - 1
    return str(first) if first >= last else f"{first} to {last}"


def kinds(profile: Profile) -> Table:
    """Events by the name of the call."""
    ordered = sorted(profile.kinds.items(), key=lambda item: -item[1])
    whole = sum(profile.kinds.values())
    rows = [(name, [Entry(count(events)), Entry(share(events, whole))]) for name, events in ordered]
    return Table("Events by kind; a reallocation counts once", ["events", "share"], rows, "call")
