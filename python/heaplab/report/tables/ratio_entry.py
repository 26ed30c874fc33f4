"""The field of a table that shows a ratio: the estimate, its interval in small print, and the verdict."""

from math import isfinite

from heaplab.analysis import Judged
from heaplab.report.tables.table_parts import Entry, diverging
from heaplab.report.words import wording
from heaplab.results import spec
from heaplab.text import units


def ratio_entry(
    judged: Judged | None,
    metric: spec.MetricSpec,
    absent: str = "no figure",
    *,
    colored: bool = False,
    remark: str = "",
) -> Entry:
    """`absent` says why there is no ratio. `colored` fills the field; `remark` stands behind the interval."""
    if judged is None or not isfinite(judged.ratio.estimate):
        return Entry(units.NOTHING, title=absent)
    small = ", ".join(filter(None, (units.bounds(judged.ratio), remark)))
    color = diverging(judged.ratio) if colored else ""
    return judged_entry(units.ratio(judged.ratio.estimate), judged, metric, small, color)


def judged_entry(
    text: str, judged: Judged, metric: spec.MetricSpec, small: str, color: str = "", more: str = ""
) -> Entry:
    """A field with the marks of a verdict; `more` follows the verdict in its title."""
    return Entry(
        text,
        small=small,
        tone=wording.tone(judged, metric),
        symbol=wording.SYMBOLS[judged.verdict],
        color=color,
        title=wording.verdict_with_reason(judged, metric) + more,
    )
