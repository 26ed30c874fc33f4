"""Tables of numbers: of one metric in an experiment, and the overview of all experiments."""

from math import isfinite

from heaplab.analysis import MEMORY, Analysis, Judged, MeasuredCell, Study
from heaplab.report.tables.ratio_entry import judged_entry
from heaplab.report.tables.table_parts import Entry, Table, diverging
from heaplab.report.words import metric_units, wording
from heaplab.results import spec
from heaplab.stats import LEVEL, Interval, geometric_mean
from heaplab.text import units

THOUSANDS = {"k": "thousands", "M": "millions", "G": "thousand millions"}  # names of the counted units


def cell_name(cell: MeasuredCell) -> str:
    return ", ".join(f"{name} {units.parameter(value)}" for name, value in cell) or "all"


def numbers(study: Study, metric: str) -> Table:
    """Medians, the ratio to the baseline with interval and verdict."""
    step = metric_units.common_scale(study, metric)
    chosen, judged = study.metric(metric), study.judged(metric)
    rows = []
    for cell in study.cells:
        entries = []
        for name in study.candidates:
            median = study.median(cell, name, metric)
            if not isfinite(median.estimate):
                entries.append(missing(study, cell, name))
                continue
            compared = isfinite(study.median(cell, study.baseline, metric).estimate)
            entries.append(_number(median, step, judged.get((cell, name)) if compared else None, chosen))
        over = f" (over {study.cpus} CPUs)" if study.oversubscribed(cell) else ""  # threads share CPUs there
        rows.append((cell_name(cell) + over, entries))
    label = THOUSANDS.get(step.label, step.label)
    title = f"{chosen.title}{f' in {label}' if label else ''}"
    title = title[:1].upper() + title[1:]
    caption = f"{title}: median of the runs; ratio to {study.baseline} with its {LEVEL} interval"
    return Table(caption, study.candidates, rows, ", ".join(study.axes))


def missing(study: Study, cell: MeasuredCell, candidate: str) -> Entry:
    """The text in place of a figure: it ran and has none; failed, with the reason; or not run."""
    if (cell, candidate) in study.good:
        return Entry(units.NOTHING, title="none, or too short to be seen")
    if reason := study.failure(cell, candidate):
        return Entry("failed", tone="failed", title=reason)
    return Entry(units.NOTHING, title="not run")


def _number(
    median: Interval, step: units.DisplayUnit, judged: Judged | None, metric: spec.MetricSpec
) -> Entry:
    text = units.digits(median.estimate / step.factor)
    if judged is None:
        return Entry(text, small=f"n = {median.count}")
    small = wording.ratio_with_reason(judged)
    return judged_entry(text, judged, metric, small, more=f"; {judged.ratio.count} pairs")


def overview(analysis: Analysis, metric: str | None) -> Table | None:
    """Experiments down, allocators across: the geometric mean over the cells of each experiment."""
    others = [name for name in analysis.allocators if name != analysis.baseline]
    rows: list[tuple[str, list[Entry]]] = []
    for study in analysis.between_allocators:
        if not metric and not study.is_timed:
            continue
        rows.append((study.name, [_mean(study, name, metric or study.main_metric) for name in others]))
    if len(rows) < 2:
        return None
    what = "Peak memory with page tables" if metric == MEMORY else "Time"
    caption = f"{what} relative to {analysis.baseline}, by experiment (below 1 is better)"
    return Table(caption, others, rows, "experiment")


def _mean(study: Study, candidate: str, metric: str) -> Entry:
    pairs = study.cell_pairs(study.baseline, candidate, metric)
    ratio, missing = geometric_mean([pairs]), len(study.cells) - len(pairs)
    if not isfinite(ratio.estimate):
        return Entry(units.NOTHING, title="no figure")
    return Entry(
        units.ratio(ratio.estimate) + ("*" if missing else ""),
        small=units.bounds(ratio),
        color=diverging(ratio),
        title=f"{missing} cells without a figure" if missing else "",
    )
