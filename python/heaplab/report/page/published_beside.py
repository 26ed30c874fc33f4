"""Published numbers beside measured ones: rows of heat tables, points on curves, stated ratios."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite, log

from heaplab import stats
from heaplab.analysis import MeasuredCell, Study
from heaplab.report.pictures.beside import Panel, beside
from heaplab.report.pictures.marks import StatedPoint
from heaplab.report.tables import heat_map, summary
from heaplab.report.tables.heat_map import Chart
from heaplab.report.tables.table_parts import Entry, Table
from heaplab.results import spec
from heaplab.results.published_spec import Published, PublishedTable, StatedRatio
from heaplab.results.records import Parameter
from heaplab.text import units
from heaplab.text.markdown import table as markdown_table

PUBLISHED = "as published"
NO_CELL = "no such cell was measured"


@dataclass(frozen=True)
class WithPublished:
    """A table with published rows below the measured ones, and a picture where both are ratios."""

    table: Table
    svg: str = ""


def tables(study: Study, plot: spec.Plot, published: Published | None) -> list[WithPublished]:
    """The tables of a plot of kind "heat" or "summary"."""
    printed = published.tables_of(study.experiment.id, plot.y) if published else []
    if plot.kind == "summary":
        return [_summary(study, plot, ratio, printed) for ratio in summary.summary(study, plot)]
    return [_heat(chart, heat_map.table_of(chart), printed) for chart in heat_map.charts(study, plot)]


# ---------------------------------------------------------------- heat tables


def _heat(chart: Chart, measured: Table, printed: Sequence[PublishedTable]) -> WithPublished:
    stored = next((each for each in printed if _belongs(each, chart)), None)
    if stored is None:
        return WithPublished(measured)
    across, down = chart.values(chart.plot.x), chart.values(chart.rows)
    values = {row: [_value(stored, row, x) for x in across] for row in down}
    rows: list[tuple[str, list[Entry]]] = []
    for row, (name, entries) in zip(down, measured.rows, strict=True):
        rows.append((name, entries))
        if any(value is not None for value in values[row]):
            texts = [_text(chart, stored, value) for value in values[row]]
            blank = [""] * (len(entries) - len(texts))
            rows.append((f"{name}, {PUBLISHED}", [Entry(text) for text in texts + blank]))
    at = ", ".join(f"{name} {units.parameter(value)}" for name, value in stored.at.items())
    source = f"As published: {stored.number}{f', at {at}' if at else ''}."
    table = replace(measured, rows=rows, notes=[*measured.notes, source])
    if not chart.is_ratio:
        return WithPublished(table)
    panels = [
        Panel(
            f"{chart.rows} {units.parameter(row)}",
            [units.parameter(x) for x in across],
            [chart.value(row, x) for x in across],
            values[row],
        )
        for row in down
    ]
    alt = f"{measured.caption}, a panel for each row, beside {stored.number}. Numbers in the table below."
    plot = chart.plot
    first = [f"{name} {units.parameter(value)}" for name, value in plot.against.items()]
    whole = " and to ".join([*filter(None, [plot.relative_to]), *first])
    svg = beside(panels, percent=not plot.against, across=plot.x, relative_to=whole, alt=alt)
    return WithPublished(table, svg)


def _belongs(printed: PublishedTable, chart: Chart) -> bool:
    """Whether the chart shows the cells of the printed table.

    A parameter that has one value in the chart may have another one in print, which a note names.
    """
    plot, axes = chart.plot, heat_map.axes_of(chart.study)
    return (
        (printed.relative_to, printed.against) == (plot.relative_to, plot.against)
        and (printed.across, printed.down) == (plot.x, chart.rows)
        and all(
            chart.fixed[name] == value
            for name, value in printed.at.items()
            if name in chart.fixed and len(axes[name]) > 1
        )
    )


def _value(printed: PublishedTable, row: Parameter, x: Parameter) -> float | None:
    number = printed.printed(row, x)
    return number / 100 if number is not None and printed.unit == "%" else number


def _text(chart: Chart, printed: PublishedTable, value: float | None) -> str:
    if value is None:
        return ""
    if printed.unit == "s":
        return f"{value:g} s"
    return units.digits(value) if chart.plot.against else units.percent(value)


# ---------------------------------------------------------------- summaries


def _summary(
    study: Study, plot: spec.Plot, measured: Table, printed: Sequence[PublishedTable]
) -> WithPublished:
    """Below each row the mean of the printed tables over the same cells, and the printed mean."""
    whole = next((row for row in printed if not row.down and row.relative_to == study.baseline), None)
    if whole is None or plot.against:
        return WithPublished(measured)
    names = [name for name in study.candidates if name != study.baseline]
    groups = summary.groups_of(study, plot)
    rows: list[tuple[str, list[Entry]]] = []
    panels = []
    for name, entries in measured.rows:
        is_arithmetic = name == summary.ARITHMETIC
        if is_arithmetic:
            values = [_value(whole, summary.TOTAL, each) for each in names]
        else:
            values = [_mean_in_print(study, groups[name], each, printed) for each in names]
        rows.append((name, entries))
        if any(value is not None for value in values):
            texts = [units.percent(value) if value is not None else "" for value in values]
            rows.append((f"{name}, {PUBLISHED}", [Entry(text) for text in texts]))
            if is_arithmetic:
                continue
            here = [summary.mean(study, plot, groups[name], each) for each in names]
            panels.append(Panel(f"{plot.rows} {name}" if name in groups else name, names, here, values))
    note = (
        f"{PUBLISHED.capitalize()}: {summary.ARITHMETIC} from {whole.number}, over every published size; the "
        "others are means of the printed tables over the sizes measured here."
    )
    alt = f"{measured.caption}, a panel for each row, beside the published. Numbers in the table below."
    svg = beside(panels, percent=True, across=study.axis, relative_to=study.baseline, alt=alt)
    return WithPublished(replace(measured, rows=rows, notes=[*measured.notes, note]), svg)


def _mean_in_print(
    study: Study, cells: Sequence[MeasuredCell], candidate: str, printed: Sequence[PublishedTable]
) -> float | None:
    """The geometric mean of the printed ratios to the baseline over these cells; None if one is missing."""
    logs = []
    for cell in map(dict, cells):
        ratio = next(
            (
                number / base
                for row in printed
                if row.unit == "s" and row.across == study.axis and _is_at(row, cell)
                if (base := row.printed(cell[row.down], study.baseline))
                if (number := row.printed(cell[row.down], candidate))
            ),
            None,
        )
        if ratio is None:
            return None
        logs.append(log(ratio))
    return exp(sum(logs) / len(logs)) if logs else None


def _is_at(printed: PublishedTable, cell: dict[str, Parameter]) -> bool:
    return printed.down in cell and all(
        cell[name] == value for name, value in printed.at.items() if name in cell
    )


# ---------------------------------------------------------------- stated ratios


def stated_points(study: Study, published: Published | None) -> list[StatedPoint]:
    """Where the stated ratios put an allocator, seen from the median of what they compare it with."""
    return [
        StatedPoint(ratio.metric, cell, name, ratio.ratio * base.estimate, ratio.bound)
        for ratio in (published.ratios if published else [])
        if ratio.experiment == study.experiment.id
        for cell, name in _places(study, ratio)
        if isfinite((base := study.median(*_other(study, ratio, cell, name), ratio.metric)).estimate)
    ]


def stated_table(study: Study, published: Published | None) -> str:
    """The stated ratios with what was measured of them, as Markdown; "" without any."""
    ratios = [
        ratio for ratio in (published.ratios if published else []) if ratio.experiment == study.experiment.id
    ]
    head = ["number", "the publication", "ratio", "here"]
    rows = [
        [
            ratio.number,
            ratio.says,
            f"{ratio.bound} {ratio.ratio:g}",
            "; ".join(_here(study, ratio)) or NO_CELL,
        ]
        for ratio in ratios
    ]
    return markdown_table(head, rows) if rows else ""


def _places(study: Study, ratio: StatedRatio) -> Iterator[tuple[MeasuredCell, str]]:
    for cell in study.cells:
        if all(dict(cell).get(name) in values for name, values in ratio.at.items()):
            yield from ((cell, name) for name in ratio.allocators if name in study.candidates)


def _other(study: Study, ratio: StatedRatio, cell: MeasuredCell, name: str) -> tuple[MeasuredCell, str]:
    return study.changed(cell, ratio.than_at), ratio.than or name


def _here(study: Study, ratio: StatedRatio) -> Iterator[str]:
    for cell, name in _places(study, ratio):
        place, other = _other(study, ratio, cell, name)
        first = study.values(place, other, ratio.metric)
        last = study.values(cell, name, ratio.metric)
        blocks = sorted(first.keys() & last.keys())
        change = stats.compare([first[block] for block in blocks], [last[block] for block in blocks])
        if isfinite(change.estimate):
            at = ", ".join(f"{key} {units.parameter(dict(cell)[key])}" for key in ratio.at)
            yield f"{name}, {at}: {units.digits(change.estimate)} ({units.bounds(change)})"
