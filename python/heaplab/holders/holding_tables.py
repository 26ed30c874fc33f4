"""Tables of an advice: who pins pages, what allocators hold, what sites apart would give back."""

from heaplab.holders.answer import Evidence
from heaplab.holders.census import PARTS
from heaplab.holders.other_ways import Amounts, OtherWay
from heaplab.holders.sentences import interval, signed, size, when
from heaplab.report.tables.table_parts import Entry, Table
from heaplab.report.words import units

MOST_SITES = 10
SMALLEST_SHARE = 0.005  # of the pinned bytes: a smaller share has no row


def tables_of(evidence: Evidence) -> list[Table]:
    found = [sites(evidence)] if evidence.census.holdings else []
    found += [allocators(evidence)]
    found += [what_if(evidence)] if evidence.what_if else []
    return [*found, *([other_ways(evidence)] if evidence.other_ways else [])]


def sites(evidence: Evidence) -> Table:
    """Call sites by the bytes of pages that their surviving blocks keep from the system."""
    census, profile = evidence.census, evidence.profile
    shown = [one for one in census.holdings[:MOST_SITES] if one.pinned >= SMALLEST_SHARE * census.pinned]
    rows = []
    for one in shown:
        chain = profile.chain(one.site)
        title = "\n".join(str(profile.place(address)) for address in profile.stack(one.site))
        entries = [
            Entry(size(one.pinned), title=title),
            Entry(units.percent(one.pinned / max(census.pinned, 1))),
            Entry(units.show(one.blocks, "1")),
            Entry(size(one.bytes)),
            Entry(size(one.pages)),
            Entry(_age(evidence, one.ages_us / one.blocks)),
            Entry(_age(evidence, one.oldest_us)),
        ]
        rows.append((chain, entries))
    return Table(
        f"Who pins pages under {evidence.base.name} {when(evidence)}",
        ["pinned", "share", "blocks", "live", "pages", "mean age", "oldest"],
        rows,
        "call site",
        notes=[
            "pinned: what is free in pages that hold a block; a page's is shared equally by its call sites."
        ],
    )


def _age(evidence: Evidence, microseconds: float) -> str:
    return units.show(microseconds / 1e6, "s") if evidence.profile.timed else units.NOTHING


def allocators(evidence: Evidence) -> Table:
    """The memory that each treatment holds at the moment, and its parts."""
    place = evidence.moment.place
    rows = []
    for one in evidence.replays:
        census = one.typical(place)
        gain = Entry("") if one is evidence.base else Entry(interval(evidence.gain(one)))
        parts = [Entry(size(getattr(census, part))) for part in PARTS]
        rows.append((one.name, [Entry(interval(one.memory(place))), gain, *parts]))
    return Table(
        f"Memory under each allocator {when(evidence)}",
        ["memory", "less", "live", "rounding", "pinned", "retained", "own"],
        rows,
        "allocator",
        notes=["Medians of replays, with their least and most in brackets where these differ."],
    )


def what_if(evidence: Evidence) -> Table:
    """The proposed sites apart: estimated from pages, and measured."""
    found = evidence.what_if
    assert found
    place = evidence.moment.place
    rows = []
    for number, (one, apart) in enumerate(zip(evidence.replays, found.replays, strict=True)):
        entries = [
            Entry(interval(one.memory(place))),
            Entry(interval(apart.memory(place))),
            Entry(interval(found.less(number, one, place))),
            Entry(size(found.unpinned(number, one, place))),
            Entry(size(found.estimated[one.name])),
        ]
        rows.append((one.name, entries))
    names = "; ".join(evidence.profile.chain(site) for site in found.sites)
    return Table(
        f"What if blocks of {names} had a heap of their own?",
        ["together", "apart", "less", "unpinned", "estimated"],
        rows,
        "allocator",
        notes=[
            "unpinned: bytes of pages that no block keeps any more, which the allocator may still retain;",
            "estimated: the same, as the pages of the replays without let expect.",
        ],
    )


def other_ways(evidence: Evidence) -> Table:
    """Buffers reserved, temporaries on the stack, memory trimmed: predicted, and measured by replays."""
    rows = []
    for one in evidence.other_ways:
        names = "; ".join(evidence.profile.chain(site) for site in one.sites)
        rows.append((one.name, [Entry(one.gain), *differences(one), Entry(one.found, small=names)]))
    return Table(
        f"What if blocks were used otherwise, under {evidence.base.name}",
        ["worth it", "time less", "memory less", "faults less", "found"],
        rows,
        "what",
        notes=[
            "Medians of replays, with predictions and with the least and most in small print.",
            "Time is that of all calls; copies that the program makes itself come on top.",
            "Memory is the peak; with malloc_trim the mean over time.",
        ],
    )


def differences(one: OtherWay) -> list[Entry]:
    """Time, memory and page faults."""
    if one.measured is None:
        return [Entry(units.NOTHING)] * 3
    return [
        difference(one.measured.seconds, "s", one.seconds),
        difference(one.measured.memory, "B", one.memory),
        difference(one.measured.faults, "1"),
    ]


def difference(amounts: Amounts, unit: str, predicted: float | None = None) -> Entry:
    least, middle, most = (signed(amount, unit) for amount in amounts)
    beside = [] if predicted is None else [f"predicted {signed(predicted, unit)}"]
    return Entry(middle, small="; ".join([*beside, *([f"{least} to {most}"] if least != most else [])]))
