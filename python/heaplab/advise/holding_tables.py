"""Tables of an advice: who pins pages, what allocators hold, what sites apart would give back."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from heaplab.advise.answer import Evidence, HolderAnswer
from heaplab.advise.census import PARTS
from heaplab.advise.growth import SiteGrowth
from heaplab.advise.other_ways import Amounts, OtherWay
from heaplab.advise.sentences import hurried, interval, sentence, signed, size, when
from heaplab.report.tables.table_parts import Entry, Table, print_table
from heaplab.screen.console import put
from heaplab.text import units

MOST_ANSWERS = 4
MOST_SITES = 10
SMALLEST_SHARE = 0.005  # of the pinned bytes: a smaller share has no row


def print_advice(evidence: Evidence, answers: Sequence[HolderAnswer], console: Console) -> None:
    """Print the answers, the verdict first, then the tables that there is something for."""
    for answer in answers[:MOST_ANSWERS]:
        put(console, f"[bold]{escape(sentence(evidence, answer))}[/]")
    for line in hurried(evidence):
        put(console, line)
    grown = [growth for answer in answers for growth in answer.growths]
    tables = [growths(grown)] if grown else []
    tables += [sites(evidence)] if evidence.replays and evidence.census.holdings else []
    tables += [allocators(evidence)] if evidence.replays else []
    tables += [what_if(evidence)] if evidence.what_if else []
    tables += [other_ways(evidence)] if evidence.other_ways else []
    for table in tables:
        put(console, "")
        print_table(table, console)


def growths(grown: Sequence[SiteGrowth]) -> Table:
    """Call sites whose blocks become more and more."""
    rows = []
    for replay in grown[:MOST_SITES]:
        entries = [
            Entry("leak" if replay.leaks else "growing"),
            Entry(size(replay.bytes)),
            Entry(units.show(replay.blocks, "1")),
            Entry(units.percent(replay.share)),
            Entry(size(60 * replay.of_second) if replay.of_second else units.NOTHING),
            Entry(size(replay.of_thousand[1]), small=span(replay.of_thousand)),
            Entry("sure" if replay.sure else "likely"),
        ]
        rows.append((replay.name, entries))
    columns = ["what", "bytes", "blocks", "of its blocks", "a minute", "per 1,000", "certainty"]
    note = "per 1,000: bytes for each 1,000 allocations of the process, with the interval of their median."
    return Table("What grows", columns, rows, "call site", notes=[note])


def span(amounts: tuple[float, float, float]) -> str:
    return f"{size(amounts[0])} to {size(amounts[2])}"


def sites(evidence: Evidence) -> Table:
    """Call sites by the bytes of pages that their surviving blocks keep from the system."""
    census, profile = evidence.census, evidence.profile
    shown = [
        holding
        for holding in census.holdings[:MOST_SITES]
        if holding.pinned >= SMALLEST_SHARE * census.pinned
    ]
    rows = []
    for replay in shown:
        chain = profile.chain(replay.site)
        title = "\n".join(str(profile.place(address)) for address in profile.stack(replay.site))
        entries = [
            Entry(size(replay.pinned), title=title),
            Entry(units.percent(replay.pinned / max(census.pinned, 1))),
            Entry(units.show(replay.blocks, "1")),
            Entry(size(replay.bytes)),
            Entry(size(replay.pages)),
            Entry(_age(evidence, replay.ages_us / replay.blocks)),
            Entry(_age(evidence, replay.oldest_us)),
        ]
        rows.append((chain, entries))
    caption = f"Who pins pages under {evidence.base.name} {when(evidence)}"
    columns = ["pinned", "share", "blocks", "live", "pages", "mean age", "oldest"]
    note = "pinned: what is free in pages that hold a block; a page's is shared equally by its call sites."
    return Table(caption, columns, rows, "call site", notes=[note])


def _age(evidence: Evidence, microseconds: float) -> str:
    return units.show(microseconds / 1e6, "s") if evidence.profile.timed else units.NOTHING


def allocators(evidence: Evidence) -> Table:
    """The memory that each treatment holds at the moment, and its parts."""
    place = evidence.moment.place
    rows = []
    for replay in evidence.replays:
        census = replay.typical(place)
        gain = Entry("") if replay is evidence.base else Entry(interval(evidence.gain(replay)))
        parts = [Entry(size(getattr(census, part))) for part in PARTS]
        rows.append((replay.name, [Entry(interval(replay.memory(place))), gain, *parts]))
    caption = f"Memory under each allocator {when(evidence)}"
    columns = ["memory", "less", "live", "rounding", "pinned", "retained", "own"]
    notes = ["Medians of replays, with their least and most in brackets where these differ."]
    return Table(caption, columns, rows, "allocator", notes=[*notes, *hurried(evidence)])


def what_if(evidence: Evidence) -> Table:
    """The proposed sites apart: estimated from pages, and measured."""
    tried = evidence.what_if
    assert tried
    place = evidence.moment.place
    rows = []
    for number, (replay, apart) in enumerate(zip(evidence.replays, tried.replays, strict=True)):
        entries = [
            Entry(interval(replay.memory(place))),
            Entry(interval(apart.memory(place))),
            Entry(interval(tried.less(number, replay, place))),
            Entry(size(tried.unpinned(number, replay, place))),
            Entry(size(tried.estimated[replay.name])),
        ]
        rows.append((replay.name, entries))
    names = "; ".join(evidence.profile.chain(site) for site in tried.sites)
    caption = f"What if blocks of {names} had a heap of their own?"
    columns = ["together", "apart", "less", "unpinned", "estimated"]
    notes = [
        "unpinned: bytes of pages that no block keeps any more, which the allocator may still retain;",
        "estimated: the same, as the pages of the replays without let expect.",
    ]
    return Table(caption, columns, rows, "allocator", notes=notes)


def other_ways(evidence: Evidence) -> Table:
    """Buffers reserved, temporaries on the stack, memory trimmed: predicted, and measured by replays."""
    rows = []
    for other_way in evidence.other_ways:
        names = "; ".join(evidence.profile.chain(site) for site in other_way.sites)
        rows.append(
            (
                other_way.name,
                [Entry(other_way.gain), *differences(other_way), Entry(other_way.calls, small=names)],
            )
        )
    caption = f"What if blocks were used otherwise, under {evidence.base.name}"
    columns = ["worth it", "time less", "memory less", "faults less", "found"]
    notes = [
        "Medians of replays, with predictions and with the least and most in small print.",
        "Time is that of all calls; copies that the program makes itself come on top.",
        "Memory is the peak; with malloc_trim the mean over time.",
    ]
    return Table(caption, columns, rows, "what", notes=notes)


def differences(other_way: OtherWay) -> list[Entry]:
    if other_way.measured is None:
        return [Entry(units.NOTHING)] * 3
    return [
        difference(other_way.measured.seconds, "s", other_way.seconds),
        difference(other_way.measured.memory, "B", other_way.memory),
        difference(other_way.measured.faults, "1"),
    ]


def difference(amounts: Amounts, unit: str, predicted: float | None = None) -> Entry:
    least, middle, most = (signed(amount, unit) for amount in amounts)
    beside = [] if predicted is None else [f"predicted {signed(predicted, unit)}"]
    return Entry(middle, small="; ".join([*beside, *([f"{least} to {most}"] if least != most else [])]))
