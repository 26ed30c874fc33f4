"""A profile on the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from heaplab.report.tables.table_parts import Table, print_table
from heaplab.screen.console import put
from heaplab.traces.profile import Profile
from heaplab.tracing import findings, trace_tables as tables
from heaplab.tracing.trace_changes import Changes

LABEL = 16  # columns
BARS = "▁▂▃▄▅▆▇█"
ACROSS = 60  # bars in a line


def print_profile(profile: Profile, console: Console) -> None:
    """The figures and tables of the page, as text."""
    put(console, f"[bold]{escape(findings.advice(profile))}[/]")
    for label, text in findings.findings(profile):
        put(console, escape(text), label=label, indent=LABEL)
    stretches = profile.stretches
    put(console, course([s.peak_bytes for s in stretches]), label="live bytes", indent=LABEL)
    put(console, course([s.peak_blocks for s in stretches]), label="live blocks", indent=LABEL)
    put(console, course([s.acquisitions for s in stretches]), label="acquired", indent=LABEL)
    for table in tables_of(profile):
        put(console, "")
        print_table(table, console)


def print_changes(changes: Changes, console: Console) -> None:
    put(console, f"[bold]{escape(changes.sentence)}[/]")
    for label, text in changes.totals():
        put(console, escape(text), label=label, indent=LABEL)
    put(console, escape(changes.noise), label="Noise", indent=LABEL)
    if changes.beyond_noise:
        put(console, "")
        print_table(changes.table(), console)


def tables_of(profile: Profile) -> list[Table]:
    shown = [tables.lives(profile)[0]]
    if len({row.acquirer for row in profile.threads}) > 1:
        shown.append(tables.threads(profile))
    if any(site.number for site in profile.sites):
        shown += [tables.sites(profile, order) for order in tables.ORDERS[:3]]
    if profile.growths.calls:
        shown.append(tables.chains(profile))
    return shown


def course(values: Sequence[int]) -> str:
    """A line of bars for values over time; a bar shows the highest value of its stretch."""
    largest = max(values, default=0)
    if not largest:
        return "nothing"
    together = -(-len(values) // ACROSS)
    highest = [max(values[at : at + together]) for at in range(0, len(values), together)]
    return "".join(BARS[(len(BARS) - 1) * value // largest] for value in highest)
