"""The measurements of a server: one row for each figure, one column for each allocator."""

from dataclasses import dataclass
from math import isfinite

from heaplab.analysis import PEAK, Judged, MeasuredCell, Study
from heaplab.report.tables.ratio_entry import judged_entry
from heaplab.report.tables.table_parts import Entry, Table
from heaplab.report.words import wording
from heaplab.results import spec
from heaplab.results.server_spec import LAZILY_FREED
from heaplab.stats import LEVEL
from heaplab.text import units


@dataclass(frozen=True)
class Figure:
    """A median with its unit, and its ratio to the baseline's; None for the baseline itself."""

    text: str
    judged: Judged | None
    metric: spec.MetricSpec

    @property
    def ratio(self) -> str:
        known = self.judged is not None and isfinite(self.judged.ratio.estimate)
        return units.ratio(self.judged.ratio.estimate) if self.judged and known else ""

    @property
    def tone(self) -> str:
        return wording.tone(self.judged, self.metric) if self.judged and self.ratio else ""


def server_rows(study: Study, cell: MeasuredCell) -> list[tuple[str, list[Figure]]]:
    """The figures of a server in the order of their declaration, without those that no allocator has."""
    if study.workload.server is None:
        return []
    names = list(study.workload.metrics)
    at = names.index(LAZILY_FREED)
    rows = []
    for name in [*names[:at], PEAK, *names[at:]]:
        figures = [_figure(study, cell, candidate, name) for candidate in study.candidates]
        if any(figure.text not in (units.NOTHING, "0", "0 B") for figure in figures):
            rows.append((study.metric(name).title, figures))
    return rows


def _figure(study: Study, cell: MeasuredCell, candidate: str, name: str) -> Figure:
    metric, median = study.metric(name), study.median(cell, candidate, name)
    judged = study.judged(name).get((cell, candidate)) if metric.better != "neither" else None
    return Figure(units.show(median.estimate, metric.unit), judged, metric)


def server_tables(study: Study) -> list[Table]:
    """Tables for the page: medians, ratios with intervals, verdicts."""
    ratios = f"ratios to {study.baseline} with {LEVEL} intervals"
    caption = f"The server under load and after it: medians; {ratios}"
    rows_of_cells = [server_rows(study, cell) for cell in study.cells]
    tables = [
        [(title, list(map(_entry, figures))) for title, figures in rows] for rows in rows_of_cells if rows
    ]
    return [Table(caption, study.candidates, rows, "figure") for rows in tables]


def _entry(figure: Figure) -> Entry:
    if figure.judged is None or not figure.ratio:
        return Entry(figure.text)
    return judged_entry(figure.text, figure.judged, figure.metric, wording.ratio_with_reason(figure.judged))
