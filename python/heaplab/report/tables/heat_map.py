"""Heat tables as P0089 and P0213 print them: numbers in coloured cells.

The colours range from the lowest to the highest number of the chart. In a table of ratios, 100 % is white.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from math import isfinite, log2

from heaplab import stats
from heaplab.analysis import MeasuredCell, Study
from heaplab.report.tables.metric_tables import missing
from heaplab.report.tables.table_parts import Entry, Table, diverging, sequential
from heaplab.report.words import metric_units, strategies, wording
from heaplab.results import spec
from heaplab.results.records import Parameter
from heaplab.stats import Interval, Pair
from heaplab.text import units

# The dimensions of P0089, section 5, if a workload reports them.
DIMENSIONS = {
    "density": "D",
    "variation": "V",
    "locality_dimension": "L",
    "utilization_dimension": "U",
    "contention_dimension": "C",
}
PathArgument = dict[str, Parameter]  # a value for every axis: the swept parameters and the compared one


@dataclass(frozen=True)
class Chart:
    """One heat table: its axes, and everything that its fields have in common."""

    study: Study
    plot: spec.Plot
    rows: str
    fixed: PathArgument

    def place(self, row: Parameter, x: Parameter) -> tuple[MeasuredCell, str]:
        """The cell and the candidate of one field."""
        at = self.fixed | {self.rows: row, self.plot.x: x}
        return tuple((name, at[name]) for name in self.study.axes), str(at[self.study.axis])

    def values(self, axis: str) -> list[Parameter]:
        """The values shown on an axis. Values by which others are divided are left out."""
        return [v for v in axes_of(self.study)[axis] if self.plot.against.get(axis) != v]

    def value(self, row: Parameter, x: Parameter) -> Interval:
        cell, candidate = self.place(row, x)
        if not self.is_ratio:
            return self.study.median(cell, candidate, self.plot.y)
        return stats.compare(*_pair(self, cell, candidate))

    @property
    def is_ratio(self) -> bool:
        return bool(self.plot.relative_to or self.plot.against)


def axes_of(study: Study) -> dict[str, list[Parameter]]:
    return study.axes | {study.axis: list(study.candidates)}


def heat_maps(study: Study, plot: spec.Plot) -> list[Table]:
    """One table for each combination of the values that are neither across nor down."""
    return list(map(table_of, charts(study, plot)))


def charts(study: Study, plot: spec.Plot) -> list[Chart]:
    if not study.candidates:
        return []
    rows, axes = plot.rows or study.axis, axes_of(study)
    shared = {rows, plot.x}
    rest = {
        name: [value for value in values if plot.against.get(name) != value]
        for name, values in axes.items()
        if name not in shared
    }
    if plot.relative_to and study.axis in rest:
        rest[study.axis] = [name for name in rest[study.axis] if name != study.baseline]
    return [
        Chart(study, plot, rows, dict(zip(rest, values, strict=True))) for values in product(*rest.values())
    ]


def table_of(chart: Chart) -> Table:
    study, plot = chart.study, chart.plot
    step = metric_units.common_scale(study, plot.y)
    across, down = chart.values(plot.x), chart.values(chart.rows)
    values = {(row, x): chart.value(row, x) for row in down for x in across}
    known = [value.estimate for value in values.values() if isfinite(value.estimate) and value.estimate > 0]
    bounds = (min(known), max(known)) if known else (1.0, 1.0)
    known_dimensions = set(DIMENSIONS) <= study.workload.metrics.keys() and chart.rows != study.axis
    dimensions = list(DIMENSIONS) if known_dimensions else []
    rows = [
        (
            _name(study, chart.rows, row),
            [_entry(chart, values[row, x], chart.place(row, x), step, bounds) for x in across]
            + [_dimension(chart, row, metric) for metric in dimensions],
        )
        for row in down
    ]
    heads = [units.parameter(x) for x in across] + [DIMENSIONS[metric] for metric in dimensions]
    compared = plot.x == study.axis and study.axis == strategies.PARAMETER
    names = [str(x) for x in across] if compared else []
    groups = [(family, len(members)) for family, members in strategies.families(names)]
    return Table(
        _caption(chart, step),
        heads,
        rows,
        chart.rows,
        groups=[*groups, ("dimensions", len(dimensions))] if groups and dimensions else groups,
        manners=[strategies.manner(name) for name in names] + ([""] * len(dimensions) if names else []),
        notes=_failures(chart, [place for place, value in values.items() if not isfinite(value.estimate)]),
    )


def _pair(chart: Chart, cell: MeasuredCell, candidate: str) -> Pair:
    study, plot = chart.study, chart.plot
    if plot.against:
        divide = study.quotient if plot.relative_to else study.across
        return divide(cell, candidate, plot.y, plot.against)
    if plot.relative_to in study.candidates:
        return study.pair(cell, plot.relative_to, candidate, plot.y)
    base = next((x for x in chart.values(plot.x) if str(x) == plot.relative_to), plot.relative_to)
    return study.across(cell, candidate, plot.y, {plot.x: base})


def _entry(
    chart: Chart,
    value: Interval,
    place: tuple[MeasuredCell, str],
    step: units.DisplayUnit,
    bounds: tuple[float, float],
) -> Entry:
    study, metric = chart.study, chart.plot.y
    if not isfinite(value.estimate):
        return missing(study, *place)
    shown = units.show(study.median(*place, metric).estimate, study.metric(metric).unit)
    if chart.is_ratio:
        percent = not chart.plot.against
        small = bounds_of(value, percent=percent) if value.bounded else ""
        text = units.percent(value.estimate) if percent else units.digits(value.estimate)
        return Entry(text, small=small, color=diverging(value), title=shown)
    span = log2(bounds[1] / bounds[0]) if bounds[1] > bounds[0] else 1.0
    share = log2(value.estimate / bounds[0]) / span if value.estimate > 0 else 0.0
    spread = f"{units.show(value.low, study.metric(metric).unit)} to " if isfinite(value.low) else ""
    title = f"{spread}{units.show(value.high, study.metric(metric).unit)}" if spread else shown
    return Entry(units.digits(value.estimate / step.factor), color=sequential(share), title=title)


def bounds_of(value: Interval, *, percent: bool) -> str:
    if not percent:
        return units.bounds(value)
    return f"{units.digits(100 * value.low)}–{units.digits(100 * value.high)}"


def _caption(chart: Chart, step: units.DisplayUnit) -> str:
    study, plot = chart.study, chart.plot
    parts = [_name(study, name, value, with_axis=True) + "," for name, value in chart.fixed.items()]
    what = study.metric(plot.y).title
    against = ", ".join(f"{name} {units.parameter(value)}" for name, value in plot.against.items())
    if plot.against and plot.relative_to:
        how = f"{what} relative to {plot.relative_to}, divided by the same at {against}"
    elif plot.against:
        how = f"{what} divided by that at {against}"
    elif plot.relative_to:
        how = f"{what} in % of {plot.relative_to}"
    else:
        how = f"{what}{f' in {step.label}' if step.label else ''}"
    return " ".join([*parts, how])


def _name(study: Study, axis: str, value: Parameter, *, with_axis: bool = False) -> str:
    if axis == study.axis:
        return strategies.title(str(value)) if axis == strategies.PARAMETER else str(value)
    return f"{axis} {units.parameter(value)}" if with_axis else units.parameter(value)


def _failures(chart: Chart, fields: list[tuple[Parameter, Parameter]]) -> list[str]:
    """All reasons of failed fields, each with its fields."""
    reasons: dict[str, list[str]] = {}
    for row, x in fields:
        if reason := chart.study.failure(*chart.place(row, x)):
            reasons.setdefault(reason, []).append(f"{units.parameter(row)} {units.parameter(x)}")
    return [f"failed at {wording.listed(where)}: {reason}" for reason, where in reasons.items()]


def _dimension(chart: Chart, row: Parameter, metric: str) -> Entry:
    """A dimension of a row, reported by the reference's runs; a range if the columns differ."""
    study = chart.study
    cells = dict.fromkeys(chart.place(row, x)[0] for x in chart.values(chart.plot.x))
    return span(study.median(cell, study.baseline, metric).estimate for cell in cells)


def span(values: Iterable[float]) -> Entry:
    """The range of a dimension, from its lowest to its highest value."""
    known = sorted(value for value in values if isfinite(value))
    ends = dict.fromkeys(f"{value:.2g}" for value in known[:1] + known[-1:])
    return Entry("–".join(ends) or units.NOTHING, tone="dimension")
