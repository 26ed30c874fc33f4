"""Several campaigns beside each other: ratios to the baseline of each, never pooled."""

from collections.abc import Sequence
from math import isfinite

from heaplab.analysis import Analysis, Judged
from heaplab.catalog import spec
from heaplab.report import units, words
from heaplab.report.cells import Entry, Table


def host_name(analysis: Analysis) -> str:
    """The machine and the hour, short enough for a column."""
    facts = analysis.results.host.facts if analysis.results.host else {}
    cpus = f", {facts['cpus']} CPUs" if facts.get("cpus") else ""
    return (
        f"{facts.get('cpu') or 'unknown machine'}{cpus}, {analysis.campaign.started[:16].replace('T', ' ')}"
    )


def side_by_side(analyses: Sequence[Analysis]) -> list[Table]:
    """Time and peak memory of every allocator in every campaign; nothing for a single campaign."""
    if len(analyses) < 2:
        return []
    columns = [f"{host_name(analysis)}, to {analysis.baseline}" for analysis in analyses]
    tables = []
    for kind, title in words.KINDS.items():
        standings = [{s.allocator: s for s in analysis.standings(kind)} for analysis in analyses]
        names = list(dict.fromkeys(name for found in standings for name in found))
        for metric, what in ((words.TIME, "time"), (words.MEMORY, "memory")):
            rows = [
                (name, [_entry(getattr(found.get(name), what, None), metric) for found in standings])
                for name in names
            ]
            if any(entry.text != units.NOTHING for _, entries in rows for entry in entries):
                caption = f"{metric.title}, {title}: ratio to the baseline of the same campaign"
                tables.append(Table(caption[0].upper() + caption[1:], columns, rows, "allocator"))
    return tables


def _entry(judged: Judged | None, metric: spec.MetricSpec) -> Entry:
    if judged is None or not isfinite(judged.ratio.estimate):
        return Entry(units.NOTHING, title="not measured there")
    return Entry(
        units.ratio(judged.ratio.estimate),
        small=units.bounds(judged.ratio),
        tone=words.tone(judged, metric),
        symbol=words.SYMBOLS[judged.verdict],
        title=words.verdict_with_reason(judged, metric),
    )
