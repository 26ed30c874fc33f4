"""A comparison as it stands while it is measured: each verdict as it falls, and what is still open."""

from rich.markup import escape
from rich.table import Table

from heaplab.analysis import Analysis
from heaplab.report.words import wording
from heaplab.results import spec
from heaplab.stats import Judged
from heaplab.text import units


def standing(measured: Analysis, rows: int) -> Table | None:
    """At most so many rows, one for each allocator but the baseline, what is open first; None without any."""
    judged_arms = [
        (summary.allocator, summary.time, summary.memory)
        for kind in wording.KINDS
        if measured.summarised(kind)
        for summary in measured.summaries(kind)
    ]
    if not judged_arms or rows < 1:
        return None
    table = Table(box=None, pad_edge=False)
    still_open = sum(wording.tone(judged, wording.TIME) == "open" for _, judged, _ in judged_arms)
    for head in (measured.compared, f"time, {still_open} of {len(judged_arms)} open", "memory"):
        table.add_column(head, no_wrap=True)
    order = sorted(judged_arms, key=lambda row: wording.tone(row[1], wording.TIME) != "open")
    for name, time, memory in order[:rows]:
        table.add_row(escape(name), said(time, wording.TIME), said(memory, wording.MEMORY))
    return table


def said(judged: Judged, metric: spec.MetricSpec) -> str:
    """The ratio with its interval, and its verdict, or why there is none yet."""
    if not judged.ratio.count:
        return ""
    bounds = units.bounds(judged.ratio) if judged.ratio.bounded else ""
    verdict = wording.why(judged) or wording.short(judged, metric)
    return escape(f"{units.ratio(judged.ratio.estimate)} {bounds} {verdict}".replace("  ", " "))
