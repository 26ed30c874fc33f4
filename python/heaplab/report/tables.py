"""The tables of the page: numbers of a metric, heat tables, and the overview of all experiments."""

from dataclasses import dataclass
from math import isfinite, log2, nan

from heaplab import spec
from heaplab.analysis import FAULTS, LATENCY_METRICS, MEMORY, Analysis, Cell, Judged, Study
from heaplab.report import units, words
from heaplab.report.figures import common_scale, panels_of
from heaplab.stats import Interval, geometric_mean


@dataclass(frozen=True)
class Entry:
    """One field: text, a smaller second line, a verdict's class and symbol, a background colour."""

    text: str
    small: str = ""
    tone: str = ""
    symbol: str = ""
    color: str = ""
    title: str = ""


@dataclass(frozen=True)
class Table:
    caption: str
    columns: list[str]
    rows: list[tuple[str, list[Entry]]]
    corner: str = ""


def cell_name(cell: Cell) -> str:
    return ", ".join(f"{name} {units.parameter(value)}" for name, value in cell) or "all"


def row_name(study: Study, cell: Cell) -> str:
    """The cell, marked where threads have to share CPUs."""
    return cell_name(cell) + (f" (over {study.cpus} CPUs)" if study.oversubscribed(cell) else "")


def numbers(study: Study, metric: str) -> Table:
    """Medians, the ratio to the baseline with interval and verdict, and page faults beside each time."""
    step, chosen, judged = common_scale(study, metric), study.metric(metric), study.judged(metric)
    rows = []
    for cell in study.cells:
        entries = []
        for name in study.candidates:
            median = study.median(cell, name, metric)
            if not isfinite(median.estimate):
                entries.append(Entry(units.NOTHING, title="no run of this cell ended well"))
                continue
            entries.append(_number(median, step, judged.get((cell, name)), chosen))
        rows.append((row_name(study, cell), entries))
        if chosen.unit in ("s", "1/s") and metric not in LATENCY_METRICS:
            faults = [study.median(cell, name, FAULTS).estimate for name in study.candidates]
            rows.append(("page faults", [Entry(units.show(f, "1"), tone="faults") for f in faults]))
    title = f"{chosen.title}{f' in {step.label}' if step.label else ''}"
    title = title[:1].upper() + title[1:]
    caption = f"{title}: median of the runs; ratio to {study.baseline} with its 95 % interval"
    return Table(caption, study.candidates, rows, ", ".join(study.axes))


def _number(median, step: units.Scale, judged: Judged | None, metric: spec.MetricSpec) -> Entry:
    text = units.digits(median.estimate / step.factor)
    if judged is None:
        return Entry(text, small=f"n = {median.count}")
    ratio = judged.ratio
    return Entry(
        text,
        small=f"{units.ratio(ratio.estimate)} ({units.bounds(ratio)})",
        tone=words.tone(judged, metric),
        symbol=words.SYMBOLS[judged.verdict],
        title=f"{words.verdict(judged, metric)}; {ratio.count} pairs",
    )


def heat(study: Study, plot: spec.Plot) -> list[Table]:
    """Heat tables with the numbers in the cells, one for each allocator and panel.

    Without `relative_to` the colours span the whole chart, all tables together; with it every row is
    divided by that column and 100 % is white.
    """
    down = plot.rows
    shared = [plot.x, down] if down else [plot.x]
    step = common_scale(study, plot.y)
    medians = {
        (cell, name): study.median(cell, name, plot.y).estimate
        for cell in study.cells
        for name in study.candidates
    }
    known = [m for m in medians.values() if isfinite(m) and m > 0]
    low, high = (min(known), max(known)) if known else (1.0, 1.0)
    tables = []
    for label, cells in panels_of(study, shared):
        lookup = {(dict(c).get(down), dict(c)[plot.x]): c for c in cells}
        for block in [[name] for name in study.candidates] if down else [study.candidates]:
            rows = []
            for row in study.axes[down] if down else block:
                values = [
                    medians.get((lookup[place], block[0] if down else row), nan)
                    if (place := (row if down else None, x)) in lookup
                    else nan
                    for x in study.axes[plot.x]
                ]
                rows.append((units.parameter(row), _heat_row(values, study, plot, step, low, high)))
            unit = f"% of {plot.relative_to}" if plot.relative_to else step.label
            parts = [block[0] if down else "", label, f"{study.metric(plot.y).title} in {unit}"]
            columns = [units.parameter(x) for x in study.axes[plot.x]]
            tables.append(Table(", ".join(p for p in parts if p), columns, rows, down or "allocator"))
    return tables


def _heat_row(
    values: list[float], study: Study, plot: spec.Plot, step: units.Scale, low: float, high: float
) -> list[Entry]:
    if plot.relative_to:
        columns = [str(x) for x in study.axes[plot.x]]
        base = values[columns.index(plot.relative_to)] if plot.relative_to in columns else nan
        return [
            Entry(
                units.percent(v / base),
                color=diverging(v / base),
                small=units.show(v, study.metric(plot.y).unit),
            )
            if isfinite(v / base)
            else Entry("failed")
            for v in values
        ]
    span = log2(high / low) if high > low else 1.0
    return [
        Entry(units.digits(v / step.factor), color=sequential(log2(v / low) / span if v > 0 else 0.0))
        if isfinite(v)
        else Entry("failed")
        for v in values
    ]


def overview(analysis: Analysis, metric: str | None) -> Table | None:
    """Experiments down, allocators across: the geometric mean over the cells of each."""
    others = [name for name in analysis.allocators if name != analysis.baseline]
    rows: list[tuple[str, list[Entry]]] = []
    for study in analysis.studies:
        if not metric and not study.is_timed:
            continue
        name = metric or study.main_metric
        entries = []
        for allocator in others:
            pairs = study.cell_pairs(study.baseline, allocator, name)
            ratio = geometric_mean([pairs])
            missing = len(study.cells) - len(pairs)
            entries.append(_mean(ratio, missing))
        rows.append((study.experiment.id, entries))
    if len(rows) < 2:
        return None
    what = "Peak memory" if metric == MEMORY else "Time"
    return Table(
        f"{what} relative to {analysis.baseline}, by experiment (below 1 is better)",
        others,
        rows,
        "experiment",
    )


def _mean(ratio: Interval, missing: int) -> Entry:
    if not isfinite(ratio.estimate):
        return Entry(units.NOTHING, title="no figure")
    return Entry(
        units.ratio(ratio.estimate) + ("*" if missing else ""),
        small=units.bounds(ratio),
        color=diverging(ratio.estimate),
        title=f"{missing} cells without a figure" if missing else "",
    )


def diverging(ratio: float) -> str:
    """Blue below 1, orange above, white at 1; a factor of four either way is the full colour."""
    share = max(-1.0, min(1.0, log2(ratio) / 2)) if ratio > 0 else -1.0
    return _mix((255, 255, 255), (112, 173, 219) if share < 0 else (245, 158, 88), abs(share))


def sequential(share: float) -> str:
    """White to blue for 0 to 1."""
    return _mix((250, 252, 255), (96, 160, 212), max(0.0, min(1.0, share)))


def _mix(light: tuple[int, int, int], full: tuple[int, int, int], share: float) -> str:
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(light, full, strict=True))
