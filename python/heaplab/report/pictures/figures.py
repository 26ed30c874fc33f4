"""The figures of an experiment: curves, bars and scatters of a metric, by the kinds of spec.Plot."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from textwrap import fill
from types import MappingProxyType

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from heaplab import stats
from heaplab.analysis import MeasuredCell, Study
from heaplab.report.pictures import canvas, marks
from heaplab.report.pictures.palette import CHROME, Style
from heaplab.report.words import metric_units
from heaplab.results import spec
from heaplab.results.records import Parameter
from heaplab.stats import Interval
from heaplab.text import units

LETTERS_UP = 28  # letters that fit along the vertical axis of a figure with one panel
SPEED_UP = units.DisplayUnit(1, "×")
LETTERS_UP_PANEL = 20  # the same with several panels


@dataclass(frozen=True)
class Drawing:
    title: str
    svg: str
    alt: str
    metrics: tuple[str, ...]  # metrics whose numbers the page shows beside the figure
    note: str = ""


def panels_of(
    study: Study, shared: Iterable[str], only: Mapping[str, Sequence[Parameter]] = MappingProxyType({})
) -> list[tuple[str, list[MeasuredCell]]]:
    """The cells of each panel: those that agree in all swept parameters except the shared ones."""
    rest = [name for name in study.axes if name not in shared]
    panels: dict[str, list[MeasuredCell]] = {}
    for cell in study.cells:
        if any(dict(cell)[name] not in values for name, values in only.items()):
            continue
        label = ", ".join(f"{name} {units.parameter(dict(cell)[name])}" for name in rest)
        panels.setdefault(label, []).append(cell)
    return list(panels.items())


def axis_title(study: Study, metric: str, step: units.DisplayUnit, panels: int = 1) -> str:
    title = study.metric(metric).title
    letters = LETTERS_UP if panels == 1 else LETTERS_UP_PANEL
    return fill(f"{title} ({step.label})" if step.label else title, letters)


def curve(
    study: Study, plot: spec.Plot, styles: dict[str, Style], stated_points: Sequence[marks.StatedPoint] = ()
) -> Drawing:
    """A metric against a swept parameter: one line for each allocator, with a band for its interval.

    `stated_points` are points that a publication states in its text.
    """
    step = SPEED_UP if plot.relative_to else metric_units.common_scale(study, plot.y)
    panels = panels_of(study, [plot.x], plot.only)
    with mpl.rc_context(canvas.STYLE):
        figure, axes = canvas.new(len(panels))
        for place, (axis, (label, cells)) in enumerate(zip(axes, panels, strict=True)):
            canvas.title(axis, label)
            for name in study.candidates:
                points = [(_number(dict(cell)[plot.x]), point(study, plot, cell, name)) for cell in cells]
                marks.banded_line(axis, points, name, styles[name], step.factor)
            beside = [
                (_number(dict(stated_point.cell)[plot.x]), stated_point)
                for stated_point in stated_points
                if stated_point.cell in cells and not plot.relative_to
            ]
            marks.draw_stated_points(axis, beside, styles, step.factor)
            _swept_axis(axis, study.axes[plot.x], plot)
            marks.shade_oversubscribed(axis, study, cells, [_number(dict(cell)[plot.x]) for cell in cells])
            axis.set_xlabel(plot.x)
            if place % canvas.MOST_ACROSS == 0:
                axis.set_ylabel(_what(study, plot) or axis_title(study, plot.y, step, len(panels)))
            if plot.log_y:
                marks.logarithmic(axis.yaxis)
            else:
                axis.set_ylim(bottom=0)
        alt = _alt(study, plot.y, f"against {plot.x}, one line per allocator")
        canvas.legend(figure, *axes)
        title = _what(study, plot) or _title(study, plot.y, plot.x)
        return Drawing(title, canvas.to_svg(figure, alt), alt, (plot.y,))


def point(study: Study, plot: spec.Plot, cell: MeasuredCell, name: str) -> Interval:
    """The median, or the speed-up over the candidate that the plot is relative to."""
    if not plot.relative_to:
        return study.median(cell, name, plot.y)
    base = study.values(study.changed(cell, plot.against), plot.relative_to, plot.y)
    here = study.values(cell, name, plot.y)
    both = sorted(base.keys() & here.keys())
    return stats.compare([here[block] for block in both], [base[block] for block in both])


def _what(study: Study, plot: spec.Plot) -> str:
    """What a curve of speed-ups shows; "" for another curve."""
    if not plot.relative_to:
        return ""
    where = ", ".join(f"{name} {units.parameter(value)}" for name, value in plot.against.items())
    return f"Speed-up over {plot.relative_to}{f', {where}' if where else ''}"


def _number(value: Parameter) -> float:
    return float(value)  # spec ensures that the x of a curve is a number


def _swept_axis(axis: Axes, values: list[Parameter], plot: spec.Plot) -> None:
    if plot.log_x:
        axis.set_xscale("log", base=2)
    if len(values) <= 12:
        axis.set_xticks([_number(v) for v in values], [units.parameter(v) for v in values])
        axis.xaxis.set_minor_locator(NullLocator())
    else:
        axis.xaxis.set_major_formatter(
            FuncFormatter(lambda x, _: units.parameter(int(x) if x == int(x) else x))
        )


def bars(study: Study, plot: spec.Plot, styles: dict[str, Style]) -> Drawing:
    """A metric as bars with intervals: in groups along a swept parameter, or one bar per allocator."""
    step = metric_units.common_scale(study, plot.y)
    panels = panels_of(study, [plot.x] if plot.x else [])
    with mpl.rc_context(canvas.STYLE):
        rows = len(study.candidates)
        size = (canvas.SINGLE[0], 0.6 + 0.32 * rows) if not plot.x and len(panels) == 1 else None
        figure, axes = canvas.new(len(panels), size)
        for axis, (label, cells) in zip(axes, panels, strict=True):
            canvas.title(axis, label)
            if plot.x:
                _groups(axis, study, cells, plot, styles, step)
            else:
                _ranking(axis, study, cells[0], plot, styles, step)
        alt = _alt(study, plot.y, f"by {plot.x or 'allocator'}, one bar per allocator")
        if plot.x:
            canvas.legend(figure, axes[0])
        return Drawing(_title(study, plot.y, plot.x), canvas.to_svg(figure, alt), alt, (plot.y,))


def _ranking(
    axis: Axes,
    study: Study,
    cell: MeasuredCell,
    plot: spec.Plot,
    styles: dict[str, Style],
    step: units.DisplayUnit,
) -> None:
    """Horizontal bars, each with its name and number, so that no legend is needed."""
    for row, name in enumerate(study.candidates):
        median = study.median(cell, name, plot.y)
        if not isfinite(median.estimate):
            axis.text(0, row, " no figure", va="center", color=CHROME["muted"])
            continue
        value = median.estimate / step.factor
        axis.barh(
            row,
            value,
            height=0.66,
            color=styles[name].color,
            xerr=marks.whisker(median, step.factor) if isfinite(median.high) else None,
            error_kw=marks.WHISKER,
        )
        end = median.high / step.factor if isfinite(median.high) else value
        axis.annotate(
            units.digits(value), (end, row), (4, 0), textcoords="offset points", va="center", size=8
        )
    axis.set_yticks(range(len(study.candidates)), study.candidates)
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.margins(x=0.12)
    axis.set_xlabel(axis_title(study, plot.y, step))


def _groups(
    axis: Axes,
    study: Study,
    cells: list[MeasuredCell],
    plot: spec.Plot,
    styles: dict[str, Style],
    step: units.DisplayUnit,
) -> None:
    width = 0.8 / len(study.candidates)
    for offset, name in enumerate(study.candidates):
        medians = [study.median(cell, name, plot.y) for cell in cells]
        places = np.arange(len(cells)) - 0.4 + (offset + 0.5) * width
        heights = [m.estimate / step.factor if isfinite(m.estimate) else 0.0 for m in medians]
        whiskers = np.hstack([marks.whisker(m, step.factor) for m in medians])
        axis.bar(
            places,
            heights,
            width * 0.92,
            color=styles[name].color,
            label=name,
            yerr=whiskers,
            error_kw=marks.WHISKER,
        )
    axis.set_xticks(range(len(cells)), [units.parameter(dict(cell)[plot.x]) for cell in cells])
    axis.grid(visible=False, axis="x")
    axis.set_xlim(-0.6, len(cells) - 0.4)
    marks.shade_oversubscribed(axis, study, cells, [float(place) for place in range(len(cells))])
    axis.set_xlabel(plot.x)
    axis.set_ylabel(axis_title(study, plot.y, step))


def scatter(study: Study, plot: spec.Plot, styles: dict[str, Style]) -> Drawing:
    """Two metrics of every cell relative to the baseline, with their intervals as crosses."""
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        others = [name for name in study.candidates if name != study.baseline]
        for name in others:
            axis.plot([], [], styles[name].marker, color=styles[name].color, label=name)
            for cell in study.cells:
                x, y = (study.ratio(cell, name, metric) for metric in (plot.x, plot.y))
                marks.cross(axis, x, y, styles[name])
        marks.unity(axis)
        axis.set_xlabel(f"{study.metric(plot.x).title} relative to {study.baseline}")
        axis.set_ylabel(f"{study.metric(plot.y).title} relative to {study.baseline}")
        alt = _alt(study, plot.y, f"against {study.metric(plot.x).title}, a cross per cell and allocator")
        title = f"{study.metric(plot.y).title} against {study.metric(plot.x).title}".capitalize()
        canvas.legend(figure, axis)
        return Drawing(title, canvas.to_svg(figure, alt), alt, (plot.x, plot.y))


def _title(study: Study, metric: str, x: str) -> str:
    title = study.metric(metric).title
    return f"{title} against {x}".capitalize() if x else title.capitalize()


def _alt(study: Study, metric: str, rest: str) -> str:
    return f"{study.metric(metric).title} {rest}: {study.experiment.title}. Numbers in the table below."
