"""Snapshots of samples on the terminal: every figure is an estimate, and stands with its interval."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from heaplab.report.tables.table_parts import Entry, Table, print_table
from heaplab.screen.console import put
from heaplab.text import units
from heaplab.traces import estimates
from heaplab.traces.sample_file import Head, SampleSum, Snapshot
from heaplab.tracing.sampled_callers import SampledCaller, SampledChange, SampledMoment, changes
from heaplab.tracing.trace_tables import share, size

LABEL = 16  # columns
MOST_ROWS = 15
FIRST_BOUND_S = 0.004  # of the classes of lifetimes, each four times the one before


def print_moment(moments: Sequence[SampledMoment], console: Console) -> None:
    """Print the last snapshot, and what has grown since the earlier ones."""
    last = moments[-1]
    put(console, f"[bold]{escape(headline(last.head, last.snapshot, last.number))}[/]")
    for label, text in facts(last):
        put(console, escape(text), label=label, indent=LABEL)
    print_tables(moments, console)


def print_tables(moments: Sequence[SampledMoment], console: Console) -> None:
    last = moments[-1]
    tables = [pinning(last), sites(last, "live"), sites(last, "allocated")]
    if len(moments) > 1:
        tables = [past(moments), *grown(moments[0], last), *tables]
    for table in tables:
        if table.rows:
            put(console, "")
            print_table(table, console)


def print_changes(old: SampledMoment, new: SampledMoment, console: Console) -> None:
    between = changes(old, new)
    shown = [change for change in between if change.is_shown]
    words = units.counted(len(shown), "call site")
    put(console, f"[bold]Live bytes of {words} changed beyond the noise of the samples.[/]")
    put(console, escape(f"{old.live.text('B')} → {new.live.text('B')}"), label="live", indent=LABEL)
    put(
        console,
        escape(f"{old.acquired.text('B')} → {new.acquired.text('B')}"),
        label="allocated",
        indent=LABEL,
    )
    noise = units.counted(len(between) - len(shown), "call site")
    put(console, f"{noise} whose difference may be none", label="only noise", indent=LABEL)
    if between:
        put(console, "")
        print_table(changed("Call sites by the difference in live bytes", between), console)


def grown(first: SampledMoment, last: SampledMoment) -> list[Table]:
    rising = [change for change in changes(first, last) if change.by.low > 0]
    return [changed("Call sites that hold more than in the first snapshot", rising)] if rising else []


def headline(head: Head, snapshot: Snapshot, number: int) -> str:
    process, mean = snapshot.processes[number], head.sample_bytes
    live, acquired = (estimates.of_bytes(amount, mean) for amount in (process.live, process.acquired))
    return (
        f"{live.text('B')} live of {acquired.text('B')} allocated, "
        f"{units.show(snapshot.seconds, 's')} after the beginning; "
        f"by {units.counted(process.acquired.samples, 'sample')}, one in {size(mean)}."
    )


def facts(moment: SampledMoment) -> list[tuple[str, str]]:
    process, snapshot = moment.process, moment.snapshot
    words = [word for word in process.arguments.split("\0") if word]
    rows = [
        (f"process {process.pid}", " ".join([moment.profile.program, *words[1:]])),
        ("allocator", process.allocator or "?"),
        ("snapshot", f"taken for: {snapshot.why}"),
    ]
    if process.resident:
        rows.append(("resident", f"{size(process.resident)}, anonymous and shared"))
    if moment.pinned:
        rows.append(("pinned", f"{moment.pinned.text('B')} of pages with live blocks are unused"))
    elif moment.head.page_period:
        rows.append(("pinned", "not known: a child of fork watches no pages"))
    if process.lost:
        rows.append(("lost", f"{units.counted(process.lost, 'sample')}, for want of memory or disk"))
    if (others := len(snapshot.processes) - 1 + snapshot.left_out) > 0:
        rows.append(("beside", f"{units.counted(others, 'process', 'processes')}; --process N shows another"))
    return rows


def past(moments: Sequence[SampledMoment]) -> Table:
    rows = [
        (
            str(number),
            [
                Entry(units.show(moment.snapshot.seconds, "s")),
                Entry(moment.live.text("B")),
                Entry(moment.acquired.text("B")),
                Entry(size(moment.process.resident) if moment.process.resident else "ended"),
                Entry(moment.snapshot.why),
            ],
        )
        for number, moment in enumerate(moments, 1)
    ]
    return Table(
        "Snapshots; FILE:N is number N", ["after", "live", "allocated", "resident", "for"], rows, "number"
    )


def pinning(moment: SampledMoment) -> Table:
    """The call sites by unused bytes of pages that hold their blocks."""
    callers = sorted(moment.callers.values(), key=lambda caller: -caller.pinned.bytes)
    callers = [caller for caller in callers if caller.pinned.pages]
    whole = sum(caller.pinned.bytes for caller in callers)
    rows = [
        (
            caller.name,
            [
                Entry(estimates.of_pinned(caller.pinned, moment.head).text("B"), title=caller.stack),
                Entry(share(caller.pinned.bytes, whole)),
                Entry(size(caller.live.bytes)),
                Entry(str(caller.pinned.pages)),
            ],
        )
        for caller in callers[:MOST_ROWS]
    ]
    return Table(
        f"Call sites by pinned bytes{rest_of(rows, callers)}",
        ["pinned", "share", "live", "pages"],
        rows,
        "caller",
    )


def rest_of(rows: Sequence[object], of: Sequence[object]) -> str:
    return f": the first {len(rows)} of {len(of)}" if len(of) > len(rows) else ""


def sites(moment: SampledMoment, what: str) -> Table:
    """The call sites by live or by allocated bytes."""

    def amount(caller: SampledCaller) -> SampleSum:
        return caller.live if what == "live" else caller.acquired

    callers = sorted(moment.callers.values(), key=lambda caller: -amount(caller).bytes)
    callers = [caller for caller in callers if amount(caller).samples]
    whole = sum(amount(caller).bytes for caller in callers)
    rows = [
        (
            caller.name,
            [
                Entry(estimates.of_bytes(amount(caller), moment.mean).text("B"), title=caller.stack),
                Entry(share(amount(caller).bytes, whole)),
                Entry(estimates.of_blocks(amount(caller), moment.mean).text("1")),
                Entry(str(amount(caller).samples)),
                Entry(median_class(caller.ages if what == "live" else caller.lives)),
            ],
        )
        for caller in callers[:MOST_ROWS]
    ]
    when = "age" if what == "live" else "lifetime"
    return Table(
        f"Call sites by {what} bytes{rest_of(rows, callers)}",
        [what, "share", "blocks", "samples", when],
        rows,
        "caller",
    )


def changed(caption: str, shown: Sequence[SampledChange]) -> Table:
    """Rows whose interval holds no change are marked as noise, in the column that is never left out."""
    rows = [
        (
            change.name,
            [
                Entry(signed(change.by), "" if change.is_shown else "may be noise"),
                Entry(f"{size(change.old.bytes)} → {size(change.new.bytes)}"),
            ],
        )
        for change in shown[:MOST_ROWS]
    ]
    return Table(caption + rest_of(rows, shown), ["difference", "live"], rows, "caller")


def signed(by: estimates.Estimate) -> str:
    low, value, high = (
        f"{'-' if each < 0 else '+'}{units.show(abs(each), 'B')}" for each in (by.low, by.value, by.high)
    )
    return f"{value} ({low} to {high})"


def median_class(counts: Sequence[int]) -> str:
    """The class in which the median of the samples lies, in words; of bytes, since samples are by bytes."""
    half, so_far = sum(counts) / 2, 0
    for number, count in enumerate(counts):
        so_far += count
        if count and so_far >= half:
            return f"< {units.show(FIRST_BOUND_S * 4**number, 's')}"
    return units.NOTHING
